"""A trace holds only its own texts: none of the request that it was compared with, from any source."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from typing import Any

import pytest
from msgspec.structs import replace

from inference.protocol.events import AnyEvent, ContextCompared, Dropped, Frame, RequestAccepted, SegmentChange
from tests.webapp.traces.export.test_exports import FRAMES, import_, signed_in
from tests.webapp.traces.file.test_bundle import archive
from tests.webapp.traces.library.test_sharing import built_page, share  # noqa: F401 (a fixture)
from webapp.traces import store
from webapp.traces.export.formats import FORMATS, decode_file
from webapp.traces.file.htmlfile import ReplayPage, to_html
from webapp.traces.file.jsonfile import encode_json
from webapp.traces.previous_turn import strip_event, strip_previous_turn_texts

SECRET = "my password is hunter2"
COMPARED = ContextCompared(
    at=4,
    request_id="req_before",
    model="m",
    num_prompt_tokens=9,
    num_answer_tokens=2,
    num_common_tokens=3,
    here=(b"now",),
    there=(SECRET.encode(),),
    added=(2,),
    changed=(SegmentChange(index=1, num_tokens=5, text=SECRET),),
    removed=(Dropped(kind="user", source="q1", num_tokens=5, reason="edited", text=SECRET),),
)
STRIPPED = replace(
    COMPARED,
    there=(),
    is_number=False,
    changed=(SegmentChange(index=1, num_tokens=5, text=""),),
    removed=(Dropped(kind="user", source="q1", num_tokens=5, reason="edited"),),
)


def with_(*events: AnyEvent) -> list[Frame]:
    return [FRAMES[0], replace(FRAMES[1], events=(FRAMES[1].events[0], *events, FRAMES[1].events[1]))]


def tells(data: bytes) -> bool:
    return SECRET.encode() in data or base64.b64encode(SECRET.encode()) in data


def test_counts_places_and_sources_stay() -> None:
    assert strip_previous_turn_texts(with_(COMPARED)) == with_(STRIPPED)
    assert strip_previous_turn_texts(FRAMES) == FRAMES
    assert isinstance(strip_previous_turn_texts(FRAMES)[0].events[0], RequestAccepted)


def test_that_a_number_differed_is_known_also_without_it() -> None:
    """It is why the cache missed; whoever has recorded it knows better than what is left of the texts."""
    dated = replace(COMPARED, here=(b" 31",), there=(b"14",))
    (is_number, still, of_old) = (
        strip_event(each) for each in (dated, replace(dated, there=(), is_number=True), replace(dated, there=()))
    )
    assert [each.is_number for each in (is_number, still, of_old)] == [True, True, None]  # type: ignore[union-attr]
    assert not is_number.there  # type: ignore[union-attr]


@pytest.mark.django_db
@pytest.mark.parametrize("is_redacted", [False, True])
def test_no_trace_link_or_file_tells_what_was_edited_away(is_redacted: bool) -> None:
    alice = signed_in("alice")
    request_id = import_(alice, encode_json(with_(COMPARED), {"title": "T"})).json()["requests"][0]["id"]
    assert store.load_frames(request_id) == with_(STRIPPED)
    page = alice.get(share(alice, request_id, is_redacted=is_redacted).json()["path"])
    assert page.status_code == 200
    assert not tells(page.content)
    for name in FORMATS:
        path = f"/api/requests/{request_id}/export?format={name}&redact={str(is_redacted).lower()}"
        data = to_html(ReplayPage("", ""), store.load_frames(request_id), {}) if name == "html" else None
        data = data or alice.get(path).content
        assert len(data) > 100
        if name == "sgtrace":
            data = encode_json(decode_file(data).frames, {})
        assert not tells(data), name
        if name in ("sgtrace", "json") and not is_redacted:
            assert decode_file(data).frames == with_(STRIPPED)
            assert import_(alice, data).json()["requests"][0]["id"] == request_id


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("redact", ["", "true"])
def test_no_archive_does(redact: str) -> None:
    alice = signed_in("alice")
    request_id = import_(alice, encode_json(with_(COMPARED), {"title": "T"})).json()["requests"][0]["id"]
    _, data = archive(alice, {"ids": [request_id]}, redact=redact)
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        trace = file.read(f"{request_id}.json")
    events: Any = [event for frame in json.loads(trace)["trace"]["frames"] for event in frame["events"]]
    assert "context.compared" in {event["type"] for event in events}
    assert not tells(trace)
