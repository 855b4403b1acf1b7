"""A budget holds under POSTs that really come at once, and through the death of the processes, on both databases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.conftest import Processes, kill
from tests.postgres.test_limits_at_once import UNLIMITED
from tests.postgres.test_open_at_once import begun, post_at_once

NUM_SENDERS = 64
NUM_FITTING = 3
BODY = {"text": "Hello", "params": {"max_tokens": 64}}


def set_limits(running: Processes, **limits: int) -> None:
    assert running.client.put("/api/limits", json=UNLIMITED | {"max_open": 32} | limits).status_code == 200


def budget_of(running: Processes) -> dict[str, Any]:
    found = running.client.get("/api/usage/limits").json()["limits"]
    return next(each["limit"] for each in found if each["limit"]["name"] == "daily_budget")


@pytest.fixture
def budgeted(running: Processes) -> Iterator[Processes]:
    """All users have money for three such requests, and a little more."""
    set_limits(running, daily_budget_nano=10**9)
    before = budget_of(running)["remaining"]
    (first,) = begun(post_at_once(running, [BODY]))
    highest = before - budget_of(running)["remaining"]
    running.cancel(first)
    running.settled(first)
    spent = 10**9 - budget_of(running)["remaining"]
    set_limits(running, daily_budget_nano=spent + (NUM_FITTING + 1) * highest - 1)
    yield running
    assert running.client.put("/api/limits", json=UNLIMITED).status_code == 200


def test_no_more_begin_than_the_budget_pays_for(budgeted: Processes) -> None:
    answers = post_at_once(budgeted, [BODY] * NUM_SENDERS)
    ids = begun(answers)
    assert Counter(answer.status_code for answer in answers) == {201: NUM_FITTING, 429: NUM_SENDERS - NUM_FITTING}
    codes = {answer.json()["error"]["code"] for answer in answers if answer.status_code == 429}
    assert codes == {"budget_used_up"}
    _die(budgeted)
    assert begun(post_at_once(budgeted, [BODY] * 4)) == []  # what is open is reserved still
    for request_id in ids:
        budgeted.cancel(request_id)
        assert budgeted.settled(request_id)["status"] == "stopped"
    again = begun(post_at_once(budgeted, [BODY] * 8))
    assert len(again) == NUM_FITTING
    for request_id in again:
        budgeted.cancel(request_id)
        budgeted.settled(request_id)


def _die(running: Processes) -> None:
    """The site and the lifecycle worker, with all that they knew."""
    kill(running.web)
    kill(running.lifecycle)
    running.lifecycle, running.web = running.start_lifecycle(), running.start_web()
    running.wait_for("/healthz")
