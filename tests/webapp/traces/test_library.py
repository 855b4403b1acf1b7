"""The trace library: pages, search, and what a foreign file may not do."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from inference.protocol.events import (
    AnyEvent,
    BillPosted,
    ClientTiming,
    Frame,
    GenerationFinished,
    RequestAccepted,
    RequestFailed,
    RequestFinished,
)
from inference.protocol.request import SamplingParams, Usage
from webapp.lifecycle.models import Request
from webapp.traces import store
from webapp.traces.archive import encode

pytestmark = pytest.mark.django_db

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
    return client.post("/api/traces/import", {"file": SimpleUploadedFile("a.sgtrace", data)})


def test_pages_add_up_to_the_list_even_when_times_are_equal(alice: Client) -> None:
    user = User.objects.get()
    rows = Request.objects.bulk_create(
        Request(user=user, surface="chat", model="m", title=str(n)) for n in range(NUM_ROWS)
    )
    Request.objects.update(created_at="2026-01-01T00:00:00.123456Z")
    found: list[str] = []
    cursor = ""
    while cursor is not None:
        page = alice.get("/api/traces", {"cursor": cursor}).json()
        found += [trace["id"] for trace in page["traces"]]
        cursor = page["next_cursor"]
    assert len(found) == NUM_ROWS
    assert set(found) == {row.pk for row in rows}


@pytest.mark.parametrize("cursor", ["x", "~", "2026-01-01", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_a_cursor_that_is_none_of_ours_gets_a_clear_error(alice: Client, cursor: str) -> None:
    response = alice.get("/api/traces", {"cursor": cursor})
    assert (response.status_code, response.json()["error"]["field"]) == (400, "cursor")


@pytest.mark.parametrize("text", ["%", "_", "'; --", "\\"])
def test_any_text_may_be_searched_for(alice: Client, text: str) -> None:
    import_(alice, ACCEPTED, END, title="rivers of France")
    assert alice.get("/api/traces", {"q": text, "model": text, "tag": text}).json()["traces"] == []
    assert len(alice.get("/api/traces", {"q": "RIVERS", "model": "m", "status": "done"}).json()["traces"]) == 1


@pytest.mark.parametrize(
    "events",
    [
        [END],
        [ACCEPTED],
        [ACCEPTED, msgspec.structs.replace(END, at=2**63)],
        [msgspec.structs.replace(ACCEPTED, accepted_unix_us=2**64), END],
        [msgspec.structs.replace(ACCEPTED, accepted_unix_us=-1), END],
        [ACCEPTED, BillPosted(at=1, currency="EUR", price_version="1", lines=(), total_nano=2**80), END],
        [ACCEPTED, BillPosted(at=1, currency="euros", price_version="1", lines=(), total_nano=1), END],
        [ACCEPTED, msgspec.structs.replace(FINISHED, usage=Usage(output=-5)), END],
        [ACCEPTED, RequestFailed(at=1, stage="s" * 500, code="c", message="m")],
        [ACCEPTED, RequestFailed(at=1, stage="s", code="", message="m")],
    ],
)
def test_a_foreign_trace_that_cannot_be_kept_is_refused_whole(alice: Client, events: list[AnyEvent]) -> None:
    response = import_(alice, *events)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_trace")
    assert not Request.objects.exists()


def test_an_imported_trace_stays_as_it_came(alice: Client) -> None:
    request = Request.objects.get(pk=import_(alice, ACCEPTED, END).json()["id"])
    assert not store.add_observed(request, ClientTiming(last_paint_unix_us=5))
    assert store.load_frames(request.pk) == [Frame(seq=1, events=(ACCEPTED, END))]
    assert alice.delete(f"/api/traces/{request.pk}").status_code == 204
    assert alice.get(f"/api/requests/{request.pk}").status_code == 404
