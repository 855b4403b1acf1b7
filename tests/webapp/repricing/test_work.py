"""A comparison of saved traces, from its beginning to its result: owned, bounded, cancelable."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import redis
from django.contrib.auth.models import Permission, User
from django.test import Client

from inference.protocol.codec import decode_frame
from inference.protocol.events import BillPosted, Frame, GenerationFinished, RequestAccepted, first
from webapp.billing.book import KINDS, PriceSet
from webapp.billing.models import Price
from webapp.repricing import work
from webapp.requests.models import Request
from webapp.traces import store
from webapp.usage.models import UsageRecord

pytestmark = pytest.mark.django_db
LOGS = Path(__file__).parents[3] / "tests" / "golden" / "logs"
NANO = {"uncached_input": 100, "cache_read": 10, "cache_write_5m": 125, "cache_write_1h": 200, "output": 400}
MODEL = "smollm2-135m-instruct"


def saved(name: str, user: User, **given: Any) -> tuple[UsageRecord, GenerationFinished]:
    """A recorded request with its trace and its record of use."""
    frames = [decode_frame(json.dumps(each).encode()) for each in json.loads((LOGS / name).read_text())["frames"]]
    events = [event for frame in frames for event in frame.events]
    accepted, finished, bill = first(events, RequestAccepted), first(events, GenerationFinished), None
    bill = first(events, BillPosted)
    assert accepted is not None and finished is not None and bill is not None
    request = Request.objects.create(id=accepted.request_id, user=user, surface="chat", model=MODEL, title="t")
    store.save(request, [Frame(seq=frame.seq, events=frame.events) for frame in frames])
    record = UsageRecord.objects.create(
        **{
            "user": user,
            "request_id": request.pk,
            "model": MODEL,
            "surface": "chat",
            "status": "done",
            "accepted_at": datetime.fromtimestamp(accepted.accepted_unix_us / 1e6, UTC),
            "cost_nano": bill.total_nano,
            "currency": "USD",
            "price_version": "1",
            **msgspec.structs.asdict(finished.usage),
            **given,
        }
    )
    return record, finished


@pytest.fixture(autouse=True)
def prices(redis_client: redis.Redis) -> None:
    Price.objects.all().delete()
    for kind in KINDS:
        Price.objects.create(
            model=MODEL, kind=kind, unit_price_nano=NANO[kind], currency="USD", effective_from=date(2020, 1, 1)
        )


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def begin(client: Client, **body: Any) -> Any:
    period = {"first": "2026-01-01", "last": "2027-12-31"}
    return client.post("/api/repricings", json.dumps(period | body), content_type="application/json")


def shown(client: Client, begun: Any) -> Any:
    return client.get(f"/api/repricings/{begun.json()['id']}").json()


@pytest.fixture(autouse=True)
def queued(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids that were queued; each test runs them itself."""
    ids: list[str] = []
    monkeypatch.setattr("webapp.repricing.tasks.queue", ids.append)
    return ids


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
    version = PriceSet(NANO, "USD", "2020-01-01").for_batches().version
    _, finished = saved("second_turn.json", alice, price_version=version)
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
