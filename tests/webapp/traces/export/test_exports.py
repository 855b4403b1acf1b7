"""Export and import of traces over the API: ownership, and messages for unreadable files."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.events import Frame, RequestAccepted, RequestFinished, TextReleased
from inference.protocol.request import PROTOCOL_VERSION, SamplingParams, Usage
from webapp.requests.models import Request
from webapp.requests.summary import about
from webapp.traces import store
from webapp.traces.export.formats import FORMATS, decode_file
from webapp.traces.file.archive import MAX_BYTES, TraceFileError
from webapp.traces.file.htmlfile import PageNotBuilt, ReplayPage, read_page, to_html
from webapp.traces.file.jsonfile import decode_json, encode_json

FRAMES = [
    Frame(
        seq=1,
        events=(
            RequestAccepted(
                at=0, request_id="req_a", surface="chat", model="m", params=SamplingParams(), accepted_unix_us=9
            ),
        ),
    ),
    Frame(
        seq=2,
        events=(
            TextReleased(at=4, text="é🙂", num_tokens=1),
            RequestFinished(at=5, finish_reason="stop", usage=Usage(output=1)),
        ),
    ),
]


def made_at(unix_us: int) -> list[Frame]:
    """As FRAMES, of another request."""
    accepted = msgspec.structs.replace(FRAMES[0].events[0], accepted_unix_us=unix_us)
    return [Frame(seq=1, events=(accepted,)), FRAMES[1]]


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.create_user(name))
    return client


def import_(client: Client, data: bytes) -> Any:
    return client.post("/api/requests/import", {"file": SimpleUploadedFile("a.json", data)})


@pytest.mark.django_db
@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_a_download_for_its_owner_alone(name: str) -> None:
    alice, bob = signed_in("alice"), signed_in("bob")
    request_id = import_(alice, encode_json(FRAMES, {"title": "T"})).json()["requests"][0]["id"]
    path = f"/api/requests/{request_id}/export?format={name}"
    assert bob.get(path).status_code == 404
    assert Client().get(path).status_code == 401
    if name == "html":
        return  # it needs the built page: tests/browser/test_exports.py
    response = alice.get(path)
    assert response.status_code == 200
    disposition = f'attachment; filename="sightglass-{request_id}{FORMATS[name].suffix}"'
    assert response["Content-Disposition"] == disposition
    assert response["Content-Type"] == FORMATS[name].content_type
    assert response.content == FORMATS[name].encode(FRAMES, about(Request.objects.get()))


@pytest.mark.django_db
def test_an_unknown_format_is_told_which_there_are() -> None:
    alice = signed_in("alice")
    request_id = import_(alice, encode_json(FRAMES, {})).json()["requests"][0]["id"]
    response = alice.get(f"/api/requests/{request_id}/export?format=pdf")
    assert (response.status_code, response.json()["error"]["field"]) == (400, "format")
    assert "perfetto" in response.json()["error"]["message"]


@pytest.mark.django_db
def test_a_json_trace_is_kept_under_a_new_id() -> None:
    alice = signed_in("alice")
    answer = import_(alice, encode_json(FRAMES, {"title": "rivers"}))
    assert (answer.status_code, answer.json()["requests"][0]["title"], answer.json()["requests"][0]["is_imported"]) == (
        201,
        "rivers",
        True,
    )
    assert store.load_frames(answer.json()["requests"][0]["id"]) == FRAMES
    again = alice.get(f"/api/requests/{answer.json()['requests'][0]['id']}/export?format=json").content
    assert decode_file(again).frames == FRAMES


def test_nothing_in_a_trace_or_a_script_ends_the_element_it_stands_in() -> None:
    hostile = "</script><!--<script>alert(1)"
    page = ReplayPage(script=f'let x = "{hostile}"', style="a{}</style>")
    text = to_html(page, FRAMES, {"title": hostile}).decode()
    assert len(re.findall("<script", text)) == text.count("</script>") + 1  # one is a string in the script
    assert text.count("</style>") == 1
    assert decode_file(text.encode()).frames == FRAMES
    shown = text.split('id="trace">')[1].split("</script>")[0]
    assert json.loads(shown) == {"title": hostile, "frames": json.loads(msgspec.json.encode(FRAMES))}
    script = text.rsplit("<script>let", 1)[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(f"let{script}".encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text


def test_a_page_that_is_not_built_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(PageNotBuilt):
        read_page(tmp_path)


WHOLE = encode_json(FRAMES, {"title": "T"})
PAGE = to_html(ReplayPage(script="let x", style="a{}"), FRAMES, {"title": "T <b>"})


@pytest.mark.django_db
def test_an_exported_page_is_imported() -> None:
    alice = signed_in("alice")
    answer = import_(alice, PAGE)
    assert (answer.status_code, answer.json()["requests"][0]["title"]) == (201, "T <b>")
    assert store.load_frames(answer.json()["requests"][0]["id"]) == FRAMES
    unsealed = re.sub(b'data-sha256="[0-9a-f]+" ', b"", PAGE)
    assert import_(alice, unsealed).status_code == 400


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (WHOLE[:-40], "truncated"),
        (WHOLE.replace(b'"at":4', b'"at":3'), "checksum"),
        (WHOLE.replace(f'"version":{PROTOCOL_VERSION}'.encode(), b'"version":99'), "version 99"),
        (WHOLE.replace(b'"sightglass-trace"', b'"other"'), '"format"'),
        (FORMATS["perfetto"].encode(FRAMES, {}), "You can import"),
        (FORMATS["otlp"].encode(FRAMES, {}), "You can import"),
        (PAGE.replace(b'"at":4', b'"at":3'), "checksum"),
        (PAGE[: PAGE.index(b"request.finished")], "truncated"),
        (PAGE.replace(b'id="trace"', b""), "You can import the trace file"),
        (b"<!doctype html><title>Another page</title>", "holds no Sightglass trace"),
        (b"{", "truncated"),
        (b"[]", "is not a Sightglass trace"),
        (encode_json(FRAMES[:1], {}), "no end"),
        (encode_json(FRAMES[1:], {}), "follow"),
        (encode_json([], {}), "begin with request.accepted"),
        (encode_json(FRAMES, {"title": "x" * 70_000}), "summary"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_reason(data: bytes, said: str) -> None:
    response = import_(signed_in("alice"), data)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_trace")
    assert said in response.json()["error"]["message"]
    assert not Request.objects.exists()


def test_a_file_that_is_too_large_is_not_read() -> None:
    with pytest.raises(TraceFileError, match="32 MiB"):
        decode_json(WHOLE + b" " * MAX_BYTES)


@given(st.data())
def test_any_damage_is_noticed(data: st.DataObject) -> None:
    if data.draw(st.booleans()):
        broken = WHOLE[: data.draw(st.integers(0, len(WHOLE) - 1))]
    else:
        at = data.draw(st.integers(0, len(WHOLE) - 1))
        broken = WHOLE[:at] + bytes([WHOLE[at] ^ data.draw(st.integers(1, 255))]) + WHOLE[at + 1 :]
    with pytest.raises(TraceFileError):
        decode_file(broken)


def test_the_checksum_holds_for_a_file_that_another_program_laid_out_anew() -> None:
    """Only what stands inside `trace` is summed up, byte by byte."""
    header, trace = WHOLE.split(b'"trace":', 1)
    assert decode_json(header.replace(b",", b",\n  ") + b'"trace": ' + trace + b"\n").frames == FRAMES
    with pytest.raises(TraceFileError, match="checksum"):
        decode_json(json.dumps(json.loads(WHOLE), indent=1).encode())
