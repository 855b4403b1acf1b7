"""The trace library: pages, search, and the limits for foreign files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone
from msgspec.structs import replace

from inference.protocol.events import (
    AnyEvent,
    BillPosted,
    ClientTiming,
    Frame,
    GenerationFinished,
    RequestAccepted,
    RequestFailed,
    RequestFinished,
    RequestObserved,
    TextReleased,
    TokenSampled,
)
from inference.protocol.request import SamplingParams, Usage
from webapp.api.traces import imports as import_views
from webapp.requests.models import Request
from webapp.traces import store
from webapp.traces.export.redact import redact
from webapp.traces.file.archive import encode
from webapp.traces.file.jsonfile import encode_json
from webapp.traces.library import copies
from webapp.traces.library.retention import due
from webapp.traces.models import Import, Trace

pytestmark = [pytest.mark.django_db, pytest.mark.database]

ACCEPTED = RequestAccepted(
    at=0, request_id="req_a", surface="chat", model="m", params=SamplingParams(), accepted_unix_us=1
)
END = RequestFinished(at=5, finish_reason="stop", usage=Usage())
FINISHED = GenerationFinished(at=1, finish_reason="stop", usage=Usage(), prefill_us=1, decode_us=1)
NUM_ROWS = 120


@pytest.fixture
def alice() -> Client:
    client = Client()
    client.force_login(User.objects.create_user("alice"))
    return client


def import_(client: Client, *events: AnyEvent, **summary: object) -> Any:
    data = encode([Frame(seq=1, events=events)], summary)
    return client.post("/api/requests/import", {"file": SimpleUploadedFile("a.sgtrace", data)})


def test_pages_add_up_to_the_list_even_when_times_are_equal(alice: Client) -> None:
    user = User.objects.get()
    rows = Request.objects.bulk_create(
        Request(user=user, surface="chat", model="m", title=str(n)) for n in range(NUM_ROWS)
    )
    Request.objects.update(created_at="2026-01-01T00:00:00.123456Z")
    found: list[str] = []
    cursor = ""
    while cursor is not None:
        page = alice.get("/api/requests", {"cursor": cursor}).json()
        found += [trace["id"] for trace in page["requests"]]
        cursor = page["next_cursor"]
    assert len(found) == NUM_ROWS
    assert set(found) == {row.pk for row in rows}


@pytest.mark.parametrize("cursor", ["x", "~", "2026-01-01", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_a_cursor_that_is_none_of_ours_gets_a_clear_error(alice: Client, cursor: str) -> None:
    response = alice.get("/api/requests", {"cursor": cursor})
    assert (response.status_code, response.json()["error"]["field"]) == (400, "cursor")


@pytest.mark.parametrize("text", ["%", "_", "'; --", "\\"])
def test_any_text_may_be_searched_for(alice: Client, text: str) -> None:
    import_(alice, ACCEPTED, END, title="rivers of France")
    assert alice.get("/api/requests", {"q": text, "model": text, "tag": text}).json()["requests"] == []
    assert len(alice.get("/api/requests", {"q": "RIVERS", "model": "m", "status": "done"}).json()["requests"]) == 1


@pytest.mark.parametrize(
    "events",
    [
        [END],
        [ACCEPTED],
        [ACCEPTED, replace(END, at=2**63)],
        [replace(ACCEPTED, accepted_unix_us=2**64), END],
        [replace(ACCEPTED, accepted_unix_us=-1), END],
        [ACCEPTED, BillPosted(at=1, currency="EUR", price_version="1", lines=(), total_nano=2**80), END],
        [ACCEPTED, BillPosted(at=1, currency="euros", price_version="1", lines=(), total_nano=1), END],
        [ACCEPTED, replace(FINISHED, usage=Usage(output=-5)), END],
        [ACCEPTED, RequestFailed(at=1, stage="s" * 500, code="c", message="m")],
        [ACCEPTED, RequestFailed(at=1, stage="s", code="", message="m")],
    ],
)
def test_a_foreign_trace_that_cannot_be_kept_is_refused_whole(alice: Client, events: list[AnyEvent]) -> None:
    response = import_(alice, *events)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_trace")
    assert not Request.objects.exists()


def test_an_imported_trace_stays_as_it_came(alice: Client) -> None:
    request = Request.objects.get(pk=import_(alice, ACCEPTED, END).json()["requests"][0]["id"])
    assert not store.add_observed(request, ClientTiming(last_paint_unix_us=5))
    assert store.load_frames(request.pk) == [Frame(seq=1, events=(ACCEPTED, END))]
    assert alice.delete(f"/api/requests/{request.pk}").status_code == 204
    assert alice.get(f"/api/requests/{request.pk}").status_code == 404


def test_an_imported_trace_tells_when_it_was_made_and_when_it_came(alice: Client) -> None:
    """A list is sorted by the first, a retention rule looks at the second."""
    made = datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC)
    ahead = replace(ACCEPTED, accepted_unix_us=2**52)
    old, odd = (
        import_(alice, each, END).json()["requests"][0]
        for each in (replace(ACCEPTED, accepted_unix_us=int(made.timestamp()) * 10**6 + 5), ahead)
    )
    assert datetime.fromisoformat(old["created_at"]) == made
    assert timezone.now() - datetime.fromisoformat(old["imported_at"]) < timedelta(minutes=5)
    assert odd["created_at"] <= odd["imported_at"]  # its server's clock was ahead
    assert [each["id"] for each in alice.get("/api/requests").json()["requests"]] == [odd["id"], old["id"]]
    assert not due(User.objects.get().pk, 1, timezone.now()).exists()
    assert due(User.objects.get().pk, 1, timezone.now() + timedelta(days=2)).count() == 2


def test_what_is_in_the_library_is_imported_once(alice: Client) -> None:
    """Told by its events: not by its title, nor by the browser's timing, nor by which kind of file it is."""
    observed = RequestObserved(at=9, client=ClientTiming(last_paint_unix_us=5))
    first = import_(alice, ACCEPTED, END, title="first")
    for events in ((ACCEPTED, END), (ACCEPTED, END, observed)):
        again = import_(alice, *events, title="again")
        assert (again.status_code, again.json()["requests"][0]["id"], again.json()["requests"][0]["is_known"]) == (
            200,
            first.json()["requests"][0]["id"],
            True,
        )
        assert again.json()["requests"][0]["title"] == "first"
    for events in ((replace(ACCEPTED, accepted_unix_us=2), END), (ACCEPTED, replace(END, at=6))):
        other = import_(alice, *events)
        assert (other.status_code, other.json()["requests"][0]["is_known"]) == (201, False)
    bob = Client()
    bob.force_login(User.objects.create_user("bob"))
    assert import_(bob, ACCEPTED, END).status_code == 201
    assert Request.objects.count() == 4


def test_a_trace_of_ones_own_request_is_known_and_its_redacted_copy_too(alice: Client) -> None:
    user = User.objects.get()
    own = Request.objects.create(user=user, surface="chat", model="m", title="T", finished_at=timezone.now())
    accepted = replace(ACCEPTED, request_id=own.pk)
    released = TextReleased(at=2, text="forty-two", num_tokens=1)
    frames = [Frame(seq=1, events=(accepted, released, END))]
    store.save(own, frames)
    for events in (frames[0].events, redact(frames)[0].events):
        assert import_(alice, *events).json()["requests"][0]["id"] == own.pk
    assert import_(alice, accepted, replace(released, text="forty-three"), END).json()["requests"][0]["id"] != own.pk
    bob = Client()
    bob.force_login(User.objects.create_user("bob"))
    assert import_(bob, *frames[0].events).json()["requests"][0]["id"] != own.pk


def test_the_redacted_copy_of_an_import_is_known(alice: Client) -> None:
    events = (ACCEPTED, TextReleased(at=2, text="forty-two", num_tokens=1), END)
    redacted = redact([Frame(seq=1, events=events)])[0].events
    first = import_(alice, *events).json()["requests"][0]["id"]
    assert import_(alice, *redacted).json()["requests"][0]["id"] == first


def test_a_copy_that_cannot_be_read_is_none(alice: Client) -> None:
    broken = import_(alice, ACCEPTED, END).json()["requests"][0]["id"]
    Trace.objects.update(blob=b"damaged")
    again = import_(alice, ACCEPTED, END).json()["requests"][0]["id"]
    assert again != broken
    assert import_(alice, ACCEPTED, END).json()["requests"][0]["id"] == again


@pytest.mark.django_db(transaction=True)
def test_no_file_keeps_other_writers_waiting(monkeypatch: pytest.MonkeyPatch, alice: Client) -> None:
    """However many say that they are of the same time: none of them is read again, and what takes long has no lock."""
    reads, is_locked = list[str](), list[bool]()
    load_frames, pack, digest = store.load_frames, store.pack, copies.digests

    def load(request_id: str) -> Any:
        reads.append(request_id)
        return load_frames(request_id)

    def unlocked(do: Any) -> Any:
        def done(*args: Any) -> Any:
            is_locked.append(connection.in_atomic_block)
            return do(*args)

        return done

    monkeypatch.setattr(store, "load_frames", load)
    monkeypatch.setattr(store, "pack", unlocked(pack))
    monkeypatch.setattr(import_views, "digests", unlocked(digest))
    for at in range(20):
        assert import_(alice, ACCEPTED, replace(END, at=at)).status_code == 201
    assert not reads
    assert is_locked == [False] * 40


def test_the_database_itself_keeps_no_import_twice(alice: Client) -> None:
    import_(alice, ACCEPTED, END)
    import_(alice, ACCEPTED, replace(END, at=6))
    with pytest.raises(IntegrityError), transaction.atomic():
        Import.objects.update(events_sha256="0" * 64)
    alice.delete(f"/api/requests/{Import.objects.values_list('pk', flat=True)[0]}")
    assert Import.objects.count() == Trace.objects.count() == 1


def test_events_that_contradict_themselves_are_refused(alice: Client) -> None:
    token = TokenSampled(
        at=1,
        position=0,
        id=1,
        piece=b"a",
        logprob=-1.0,
        rank=1,
        entropy=1.0,
        u=0.5,
        low=0.0,
        high=1.0,
        log_normalizer=0.0,
        candidate_ids=(1, 2),
        candidate_pieces=(b"a",),
        candidate_logits=(0.0, 0.0),
        processors=None,
        step_us=1,
        batch_size=1,
    )
    data = encode_json([Frame(seq=1, events=(ACCEPTED, token, END))], {})
    response = alice.post("/api/requests/import", {"file": SimpleUploadedFile("a.json", data)})
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_trace")
