"""Comparisons whose process is lost, that are cancelled late, or that are too many for the site."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.webapp.usage.repricing.comparing import begin, client_of, saved, shown
from webapp.usage.repricing import reading, states, tasks, work

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("prices", "queued")]


def lose(work_id: str, monkeypatch: pytest.MonkeyPatch) -> states.Run:
    """Begin a run whose process then falls silent until its deadline has passed."""
    with monkeypatch.context() as patch:
        patch.setattr(states, "LEASE_S", 0)
        taken = states.take(work_id)
    assert taken is not None
    return taken


def test_a_lost_comparison_is_queued_again_and_ends(
    alice: User, queued: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    saved("second_turn.json", alice)
    client = client_of(alice)
    begun = begin(client)
    lose(queued[0], monkeypatch)
    assert shown(client, begun)["state"] == "running"
    tasks.queue_lost()
    assert shown(client, begun)["state"] == "waiting" and queued == [queued[0]] * 2
    work.run(queued[1])
    assert shown(client, begun)["state"] == "done"


def test_a_comparison_that_loses_every_run_fails(
    alice: User, queued: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of(alice)
    begun = begin(client)
    for _ in range(states.MAX_RUNS):
        lose(queued[-1], monkeypatch)
        tasks.queue_lost()
    assert shown(client, begun)["state"] == "failed" and len(queued) == states.MAX_RUNS
    tasks.queue_lost()
    assert len(queued) == states.MAX_RUNS


def test_a_comparison_whose_message_is_lost_is_queued_again(
    alice: User, queued: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "PATIENCE_S", 0)
    begin(client_of(alice))
    tasks.queue_lost()
    assert queued == [queued[0]] * 2


def test_a_comparison_that_lives_is_left_alone(alice: User, queued: list[str]) -> None:
    client = client_of(alice)
    begun = begin(client)
    states.take(queued[0])
    tasks.queue_lost()
    assert shown(client, begun)["state"] == "running" and len(queued) == 1


def test_a_run_that_was_given_up_does_not_end_the_next_one(
    alice: User, queued: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of(alice)
    begun = begin(client)
    slow = lose(queued[0], monkeypatch)
    tasks.queue_lost()
    newer = states.take(queued[0])
    states.end(slow, "failed")
    assert not states.keep(slow, 1)
    assert shown(client, begun)["state"] == "running" and newer is not None and states.keep(newer, 1)


def test_two_messages_of_one_comparison_begin_one_run(alice: User, queued: list[str]) -> None:
    begin(client_of(alice))
    assert states.take(queued[0]) is not None and states.take(queued[0]) is None


def test_a_cancel_after_the_last_request_wins(alice: User, queued: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    saved("second_turn.json", alice)
    client = client_of(alice)
    begun = begin(client)

    def read_all(records: Any) -> Iterator[Any]:
        yield from reading.read_all(records)
        assert client.delete(f"/api/repricings/{begun.json()['id']}").status_code == 204

    monkeypatch.setattr(work, "read_all", read_all)
    work.run(queued[0])
    found = shown(client, begun)
    assert (found["state"], found["rows"]) == ("cancelled", [])


def test_the_site_compares_a_few_at_once(queued: list[str]) -> None:
    users = [User.objects.create_user(f"user{number}") for number in range(states.MAX_OPEN + 1)]
    for user in users[:-1]:
        assert begin(client_of(user)).status_code == 201
    late = client_of(users[-1])
    refused = begin(late)
    assert refused.status_code == 429 and refused["Retry-After"] == "5"
    assert refused.json()["error"]["code"] == "busy" and "4 periods at once" in refused.json()["error"]["message"]
    assert begin(client_of(users[0])).status_code == 201, "one's last one gives its place"
    work.run(queued[1])
    assert begin(late).status_code == 201


def test_a_reader_has_one_open_comparison(alice: User, queued: list[str]) -> None:
    """A comparison that another one followed before it was noted begins cancelled."""
    client = client_of(alice)
    begun = begin(client)
    states.enter(alice.pk, "slow", {"user": alice.pk, "done": 0, "all": 0, "wanted": "{}"})
    assert client.get("/api/repricings/slow").json()["state"] == "cancelled"
    assert shown(client, begun)["state"] == "waiting" and states.take("slow") is None
