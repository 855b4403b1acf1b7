"""A user's rate holds under POSTs that really come at once, on both databases."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.faults.conftest import Processes
from tests.postgres.test_open_at_once import begun, post_at_once

RATE = 3
NUM_SENDERS = 7
UNLIMITED = {
    "max_open": None,
    "requests_per_minute": None,
    "input_tokens_per_minute": None,
    "output_tokens_per_minute": None,
    "tokens_per_day": None,
    "daily_budget_nano": None,
    "monthly_budget_nano": None,
    "may_share": None,
    "may_probe": None,
    "may_rerun": None,
}


@pytest.fixture
def limited(running: Processes) -> Iterator[Processes]:
    """All users may send so many requests a minute."""
    assert running.client.put("/api/limits", json=UNLIMITED | {"requests_per_minute": RATE}).status_code == 200
    yield running
    assert running.client.put("/api/limits", json=UNLIMITED).status_code == 200


def test_no_more_begin_than_the_rate_allows(limited: Processes) -> None:
    start = time.monotonic()
    answers = post_at_once(limited, [{"text": "Hello"}] * NUM_SENDERS)
    num_back = int((time.monotonic() - start) * RATE / 60)
    ids = begun(answers)
    for request_id in ids:
        limited.cancel(request_id)
    assert RATE <= len(ids) <= RATE + num_back
    assert Counter(answer.status_code for answer in answers) == {201: len(ids), 429: NUM_SENDERS - len(ids)}
    assert all(int(answer.headers["Retry-After"]) > 0 for answer in answers if answer.status_code == 429)
