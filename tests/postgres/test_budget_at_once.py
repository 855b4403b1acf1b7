"""A budget holds under POSTs that really come at once, and through the death of the processes, on both databases.

It is the budget of all users, of one key, or of a group whose members send at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.faults.conftest import Processes, kill, until
from tests.postgres.test_limits_at_once import UNLIMITED
from tests.postgres.test_open_at_once import begun, post_at_once

NUM_SENDERS = 32
NUM_FITTING = 3
BODY = {"text": "Hello", "params": {"max_tokens": 64}}
_AMOUNTS = {name: value for name, value in UNLIMITED.items() if not name.startswith("may_")}
_NEW_GROUP = """
from django.contrib.auth.models import Group, User
from webapp.identity.keys.keys import create
group, _ = Group.objects.get_or_create(name='spenders')
for name in ('ann', 'ben'):
    user, _ = User.objects.get_or_create(username=name)
    user.groups.add(group)
    print(create(user.pk, 'spender').secret)
print(group.pk)
"""


@dataclass
class Budget:
    """A budget of a day, and the programs and users that spend it."""

    subject: str
    set_nano: Callable[[int | None], None]
    callers: list[httpx.Client]

    @property
    def remaining(self) -> int:
        found = self.callers[0].get("/api/usage/limits").json()["limits"]
        budgets = [each["limit"] for each in found if each["limit"]["name"] == "daily_budget"]
        return next(each["remaining"] for each in budgets if each["subject"] == self.subject)

    def end(self, request_id: str) -> None:
        """Cancel a request, whichever caller began it, and wait until it is settled."""
        path = f"/api/requests/{request_id}"
        (owner,) = (each for each in self.callers if each.get(path).status_code == 200)
        owner.post(f"{path}/cancel").raise_for_status()
        until(lambda: owner.get(path).json()["status"] == "stopped", 120)


def _site(running: Processes) -> Budget:
    def set_nano(nano: int | None) -> None:
        limits = UNLIMITED | {"max_open": 32, "daily_budget_nano": nano}
        assert running.client.put("/api/limits", json=limits).status_code == 200

    return Budget("user", set_nano, [running.client])


def _key(running: Processes) -> Budget:
    new = running.client.post("/api/keys", json={"name": "spender"}).raise_for_status().json()

    def set_nano(nano: int | None) -> None:
        path = f"/api/keys/{new['key']['id']}/limits"
        assert running.client.put(path, json={"daily_budget_nano": nano}).status_code == 200

    return Budget("key", set_nano, [_program(running, new["secret"])])


def _group(running: Processes) -> Budget:
    *secrets, group = running.manage("shell", "-v", "0", "-c", _NEW_GROUP).split()

    def set_nano(nano: int | None) -> None:
        limits = _AMOUNTS | {"group_id": int(group), "daily_budget_nano": nano}
        assert running.client.put("/api/limits/shared", json=limits).status_code == 200

    return Budget("group", set_nano, [_program(running, secret) for secret in secrets])


def _program(running: Processes, secret: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {secret}"}
    return httpx.Client(base_url=running.client.base_url, headers=headers, timeout=240)


@pytest.fixture(params=[_site, _key, _group], ids=["user", "key", "group"])
def budget(running: Processes, request: pytest.FixtureRequest) -> Iterator[Budget]:
    """It has money for three such requests, and a little more."""
    assert running.client.put("/api/limits", json=UNLIMITED | {"max_open": 32}).status_code == 200
    made: Budget = request.param(running)
    made.set_nano(10**9)
    before = made.remaining
    (first,) = begun(post_at_once(running, [BODY], made.callers))
    highest = before - made.remaining
    made.end(first)
    spent = 10**9 - made.remaining
    made.set_nano(spent + (NUM_FITTING + 1) * highest - 1)
    yield made
    made.set_nano(None)
    assert running.client.put("/api/limits", json=UNLIMITED).status_code == 200


def test_no_more_begin_than_the_budget_pays_for(running: Processes, budget: Budget) -> None:
    answers = post_at_once(running, [BODY] * NUM_SENDERS, budget.callers)
    ids = begun(answers)
    assert Counter(answer.status_code for answer in answers) == {201: NUM_FITTING, 429: NUM_SENDERS - NUM_FITTING}
    codes = {answer.json()["error"]["code"] for answer in answers if answer.status_code == 429}
    assert codes == {"budget_used_up"}
    assert refusing(budget) == {("daily_budget", budget.subject)}
    _die(running)
    assert begun(post_at_once(running, [BODY] * 4, budget.callers)) == []  # what is open is reserved still
    for request_id in ids:
        budget.end(request_id)
    again = begun(post_at_once(running, [BODY] * 8, budget.callers))
    assert len(again) == NUM_FITTING
    for request_id in again:
        budget.end(request_id)


def refusing(budget: Budget) -> set[tuple[str, str]]:
    """The limits that the callers find among their last refusals, from the newest call on."""
    newest: list[dict[str, Any]] = [each.get("/api/usage/refusals").json()["refusals"][0] for each in budget.callers]
    return {(each["limit"]["name"], each["limit"]["subject"]) for each in newest}


def _die(running: Processes) -> None:
    """The site and the lifecycle worker, with all that they knew."""
    kill(running.web)
    kill(running.lifecycle)
    running.lifecycle, running.web = running.start_lifecycle(), running.start_web()
    running.wait_for("/healthz")
