"""A comparison of saved traces, from its beginning to its result: owned, bounded, cancelable."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User

from tests.webapp.usage.repricing.comparing import MODEL, begin, client_of, saved, shown
from tests.webapp.usage.repricing.conftest import NANO
from webapp.models.billing.price_book import KINDS, PriceSet
from webapp.requests.models import Request
from webapp.usage.repricing import work

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("prices", "queued")]


def test_as_it_was_costs_what_the_recorded_tokens_cost(alice: User, queued: list[str]) -> None:
    record, finished = saved("second_turn.json", alice)
    client = client_of(alice)
    begun = begin(client)
    assert shown(client, begun)["state"] == "waiting"
    work.run(queued[0])
    found = shown(client, begun)
    (row,) = found["rows"]
    expected = sum(getattr(finished.usage, kind) * NANO[kind] for kind in KINDS)
    assert (found["state"], row["num_requests"], row["num_unknown"]) == ("done", 1, 0)
    assert (row["billed_nano"], row["least_nano"], row["most_nano"]) == (record.cost_nano, expected, expected)
    assert (row["user"], row["key"], row["model"]) == ("alice", "", MODEL)


def test_a_line_of_a_batch_has_a_batchs_prices(alice: User, queued: list[str]) -> None:
    _, finished = saved("second_turn.json", alice, is_batch=True)
    client = client_of(alice)
    begun = begin(client)
    work.run(queued[0])
    (row,) = shown(client, begun)["rows"]
    halves = PriceSet(NANO, "USD", "2020-01-01").for_batches().unit_nano
    expected = sum(getattr(finished.usage, kind) * halves[kind] for kind in KINDS)
    assert (row["least_nano"], row["most_nano"]) == (expected, expected)


def test_a_breakpoint_at_the_end_writes_the_whole_blocks(alice: User, queued: list[str]) -> None:
    _, finished = saved("second_turn.json", alice)
    client = client_of(alice)
    begun = begin(client, placement="automatic", ttl="1h")
    work.run(queued[0])
    (row,) = shown(client, begun)["rows"]
    read = finished.usage.uncached_input + finished.usage.cache_read
    assert row["least"]["cache_write_1h"] == read // 16 * 16 - finished.usage.cache_read
    assert row["most"] == row["least"]


def test_a_request_without_a_trace_is_unknown(alice: User, queued: list[str]) -> None:
    record, _ = saved("second_turn.json", alice)
    Request.objects.get(pk=record.request_id).delete()
    client = client_of(alice)
    begun = begin(client)
    work.run(queued[0])
    (row,) = shown(client, begun)["rows"]
    assert (row["num_requests"], row["num_unknown"], row["unknown_nano"]) == (0, 1, record.cost_nano)


def test_each_sees_own_requests_and_own_comparisons_alone(alice: User, queued: list[str]) -> None:
    saved("second_turn.json", alice)
    bob, operator = User.objects.create_user("bob"), User.objects.create_user("olga", is_staff=True)
    operator.user_permissions.add(Permission.objects.get(codename="view_usagerecord"))
    begun = begin(client_of(bob))
    work.run(queued[0])
    assert shown(client_of(bob), begun)["rows"] == []
    assert client_of(alice).get(f"/api/repricings/{begun.json()['id']}").status_code == 404
    assert client_of(alice).delete(f"/api/repricings/{begun.json()['id']}").status_code == 404
    assert begin(client_of(alice), is_of_all=True).status_code == 403
    of_all = begin(client_of(operator), is_of_all=True)
    work.run(queued[-1])
    assert [row["user"] for row in shown(client_of(operator), of_all)["rows"]] == ["alice"]


def test_a_cancelled_comparison_does_not_run(alice: User, queued: list[str]) -> None:
    saved("second_turn.json", alice)
    client = client_of(alice)
    first_begun, begun = begin(client), begin(client)
    assert shown(client, first_begun)["state"] == "cancelled", "the next one ends it"
    assert client.delete(f"/api/repricings/{begun.json()['id']}").status_code == 204
    work.run(queued[1])
    assert shown(client, begun)["state"] == "cancelled"


def test_a_period_with_too_many_requests_is_refused(
    alice: User, queued: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    saved("second_turn.json", alice)
    monkeypatch.setattr(work, "MAX_REQUESTS", 0)
    answer = begin(client_of(alice))
    assert answer.status_code == 400 and "Shorten it" in answer.json()["error"]["message"] and not queued


def test_a_wrong_body_is_refused(alice: User) -> None:
    client = client_of(alice)
    for body in ({"prices_of": "no such"}, {"placement": "middle"}, {"zone": "Mars"}, {"first": "2026-13-01"}):
        assert begin(client, **body).status_code == 400, body
