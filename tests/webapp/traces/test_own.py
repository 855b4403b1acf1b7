"""What leaves with a trace is that trace's own: no text of the request that it was compared with."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from typing import Any

import pytest
from msgspec.structs import replace

from inference.protocol.events import ContextCompared, Dropped, Frame, RequestAccepted, SegmentChange
from tests.webapp.traces.test_bundle import archive
from tests.webapp.traces.test_exports import FRAMES, import_, signed_in
from tests.webapp.traces.test_sharing import _built_page, share  # noqa: F401 (a fixture)
from webapp.traces import store
from webapp.traces.formats import FORMATS, decode_file
from webapp.traces.htmlfile import ReplayPage, to_html
from webapp.traces.jsonfile import encode_json
from webapp.traces.own import own

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
KEPT = replace(
    COMPARED,
    there=(),
    changed=(SegmentChange(index=1, num_tokens=5, text=""),),
    removed=(Dropped(kind="user", source="q1", num_tokens=5, reason="edited"),),
)


def with_(compared: ContextCompared) -> list[Frame]:
    return [FRAMES[0], replace(FRAMES[1], events=(FRAMES[1].events[0], compared, FRAMES[1].events[1]))]


def tells(data: bytes) -> bool:
    return SECRET.encode() in data or base64.b64encode(SECRET.encode()) in data


def test_counts_places_and_sources_stay() -> None:
    assert own(with_(COMPARED)) == with_(KEPT)
    assert own(FRAMES) == FRAMES
    assert isinstance(own(FRAMES)[0].events[0], RequestAccepted)


@pytest.mark.django_db
@pytest.mark.parametrize("is_redacted", [False, True])
def test_no_link_and_no_file_tells_what_was_edited_away(is_redacted: bool) -> None:
    alice = signed_in("alice")
    request_id = import_(alice, encode_json(with_(COMPARED), {"title": "T"})).json()["id"]
    assert tells(encode_json(store.load_frames(request_id), {}))
    page = alice.get(share(alice, request_id, is_redacted=is_redacted).json()["path"])
    assert page.status_code == 200
    assert not tells(page.content)
    for name in FORMATS:
        path = f"/api/traces/{request_id}/export?format={name}&redact={str(is_redacted).lower()}"
        data = to_html(ReplayPage("", ""), store.load_to_leave(request_id), {}) if name == "html" else None
        data = data or alice.get(path).content
        assert len(data) > 100
        if name == "sgtrace":
            data = encode_json(decode_file(data).frames, {})
        assert not tells(data), name
        if name in ("sgtrace", "json") and not is_redacted:
            assert decode_file(data).frames == with_(KEPT)
            assert import_(alice, data).status_code == 201


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("redact", ["", "true"])
def test_no_archive_does(redact: str) -> None:
    alice = signed_in("alice")
    request_id = import_(alice, encode_json(with_(COMPARED), {"title": "T"})).json()["id"]
    _, data = archive(alice, {"ids": [request_id]}, redact=redact)
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        trace = file.read(f"{request_id}.json")
    events: Any = [event for frame in json.loads(trace)["trace"]["frames"] for event in frame["events"]]
    assert "context.compared" in {event["type"] for event in events}
    assert not tells(trace)
