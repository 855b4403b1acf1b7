"""Many traces in one file: writing, reading, and the limits for foreign or damaged files."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import DatabaseError
from django.test import AsyncClient, Client
from hypothesis import given
from hypothesis import strategies as st

from tests.webapp.traces.export.test_exports import FRAMES, import_, made_at, signed_in
from webapp.requests.models import Request
from webapp.traces import store
from webapp.traces.file.archive import TraceFileError
from webapp.traces.file.bundle import BundleWriter, read_bundle
from webapp.traces.file.jsonfile import encode_json
from webapp.traces.models import Entry, Trace


def archive(client: Client, selection: object, **more: str) -> tuple[int, bytes]:
    """As a browser gets it: streamed."""

    async def fetch() -> tuple[int, bytes]:
        reader = AsyncClient()
        reader.cookies = client.cookies
        fields = {"selection": json.dumps(selection)} | more
        response: Any = await reader.post("/api/requests/archive", fields)
        if not response.streaming:
            return response.status_code, response.content
        return response.status_code, b"".join([piece async for piece in response.streaming_content])

    return asyncio.run(fetch())


def manifest(data: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert file.testzip() is None
        return json.loads(file.read("manifest.json"))


def upload(client: Client, data: bytes) -> Any:
    return client.post("/api/requests/import", {"file": SimpleUploadedFile("a.zip", data)})


@pytest.mark.django_db(transaction=True)
def test_an_archive_comes_back_with_what_was_put_to_its_traces() -> None:
    alice, bob = signed_in("alice"), signed_in("bob")
    traces = [encode_json(made_at(n), {"title": title}) for n, title in enumerate(("one", "two", "three"))]
    ids = [import_(alice, trace).json()["requests"][0]["id"] for trace in traces]
    hers = import_(bob, encode_json(FRAMES, {"title": "hers"})).json()["requests"][0]["id"]
    alice.patch(f"/api/requests/{ids[0]}", {"is_pinned": True, "note": "why?", "tags": ["a", "b"]}, "application/json")
    Trace.objects.filter(pk=ids[2]).update(blob=b"damaged")
    status, data = archive(alice, {"ids": [*ids, hers]})
    assert status == 200
    told = manifest(data)
    assert {each["request_id"] for each in told["traces"]} == set(ids[:2])
    assert [each["request_id"] for each in told["problems"]] == [ids[2]]
    assert not told["is_redacted"]

    answer = upload(bob, data)
    assert answer.status_code == 201
    saved = {trace["title"]: trace["id"] for trace in answer.json()["requests"]}
    assert saved.keys() == {"one", "two"}
    assert store.load_frames(saved["one"]) == made_at(0)
    entry = Entry.objects.get(pk=saved["one"])
    assert (entry.is_pinned, entry.note, {tag.name for tag in entry.tags.all()}) == (True, "why?", {"a", "b"})

    bob.patch(f"/api/requests/{saved['one']}", {"note": "now I know"}, "application/json")
    again = upload(bob, data)
    assert again.status_code == 200
    assert [(each["id"], each["is_known"]) for each in again.json()["requests"]] == [
        (each["id"], True) for each in answer.json()["requests"]
    ]
    assert Entry.objects.get(pk=saved["one"]).note == "now I know"

    status, data = archive(alice, {"query": "q=two"}, redact="true")
    (trace,) = manifest(data)["traces"]
    assert (trace["request_id"], trace["tags"], manifest(data)["is_redacted"]) == (ids[1], [], True)
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert "é🙂" not in file.read(trace["file"]).decode()


@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_archived_is_explained() -> None:
    alice = signed_in("alice")
    import_(alice, encode_json(FRAMES, {}))
    assert archive(Client(), {"query": ""})[0] == 401
    for wrong in ({}, {"query": "stats=x"}, "x", {"ids": 5}):
        status, body = archive(alice, wrong)
        assert (status, len(json.loads(body)["error"]["message"]) > 10) == (400, True)
    assert archive(alice, {"query": ""}, redact="perhaps")[0] == 400
    Trace.objects.update(blob=bytes(15 << 20))
    assert archive(alice, {"query": ""})[0] == 413


def bundled(traces: dict[str, bytes], **marks: object) -> bytes:
    writer = BundleWriter(is_redacted=False)
    return b"".join([writer.add(name, trace, marks) for name, trace in traces.items()]) + writer.end()


TRACE = encode_json(FRAMES, {"title": "T"})


def rewritten(data: bytes, name: str, content: bytes | None) -> bytes:
    """The same zip file with another content of one member, or without it."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as file, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new:
        for info in file.infolist():
            if info.filename != name:
                new.writestr(info.filename, file.read(info.filename))
            elif content is not None:
                new.writestr(name, content)
    return written.getvalue()


def misnamed() -> bytes:
    """With a name that says it is UTF-8 and is not."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as new:
        new.writestr("é", b"")
    return written.getvalue().replace("é".encode(), b"\xff\xff")


def packed_as(packing: int) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(WHOLE)) as file, zipfile.ZipFile(written, "w", packing) as new:
        for name in file.namelist():
            new.writestr(name, file.read(name))
    return written.getvalue()


WHOLE = bundled({"req_a": TRACE, "req_b": encode_json(made_at(1), {"title": "T"})})
TOLD = manifest(WHOLE)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (WHOLE[:-40], "truncated"),
        (rewritten(WHOLE, "req_b.json", TRACE[:-5]), "req_b.json is damaged"),
        (rewritten(WHOLE, "req_b.json", None), "no req_b.json"),
        (rewritten(WHOLE, "manifest.json", None), "no manifest.json"),
        (rewritten(WHOLE, "manifest.json", b"{"), "cannot be read"),
        (rewritten(WHOLE, "manifest.json", json.dumps(TOLD | {"version": 9}).encode()), "version 1"),
        (rewritten(WHOLE, "manifest.json", json.dumps(TOLD | {"format": "x"}).encode()), "not a Sightglass archive"),
        (bundled({"req_a": TRACE, "req_b": encode_json(FRAMES[:1], {})}), "req_b.json: The trace has no end"),
        (bundled({"req_a": b"{}"}), "req_a.json"),
        (bundled({"req_a": TRACE}, tags=["x" * 99]), "req_a.json: A tag has"),
        (bundled({"req_a": TRACE}, note="x" * 20_000), "req_a.json: A note"),
        (bundled({"req_a": b" " * (33 << 20)}), "unpacks to more"),
        (b"PK\x03\x04", "truncated"),
        (packed_as(zipfile.ZIP_LZMA), "store or deflate it"),
        (packed_as(zipfile.ZIP_BZIP2), "store or deflate it"),
        (misnamed(), "damaged"),
        (rewritten(WHOLE, "manifest.json", json.dumps(TOLD | {"traces": TOLD["traces"][:1] * 2}).encode()), "once"),
    ],
)
def test_an_archive_that_is_wrong_anywhere_is_refused_whole(data: bytes, said: str) -> None:
    answer = upload(signed_in("alice"), data)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_trace")
    assert said in answer.json()["error"]["message"]
    assert not Request.objects.exists()
    assert User.objects.count() == 1


@pytest.mark.django_db
def test_an_import_that_fails_half_way_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the disk is full; what would fail of itself is found before anything is written."""
    save, saved = store.save_packed, list[str]()

    def save_one(request: Request, blob: bytes) -> None:
        if saved:
            raise DatabaseError("the disk is full")
        save(request, blob)
        saved.append(request.pk)

    monkeypatch.setattr(store, "save_packed", save_one)
    alice = signed_in("alice")
    with pytest.raises(DatabaseError):
        upload(alice, WHOLE)
    assert saved
    assert not Request.objects.exists()


@given(st.data())
def test_any_damage_of_a_trace_is_noticed(data: st.DataObject) -> None:
    """Of what lies around the traces some bytes mean nothing, but no change makes another trace of it."""
    at = data.draw(st.integers(0, len(WHOLE) - 1))
    broken = WHOLE[:at] + bytes([WHOLE[at] ^ data.draw(st.integers(1, 255))]) + WHOLE[at + 1 :]
    try:
        read = [archive.frames for _, archive in read_bundle(broken)]
    except TraceFileError:
        return
    assert read == [FRAMES, made_at(1)]
