"""A user writes a word of its own through every door of the running product. After the erasure no table, no key of
Redis and no file of the data folder has any of these words, on either database.

The search is sure to see: before the erasure it finds the word of each door that keeps it.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import re
import secrets
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import httpx
import pytest
import redis
import zstandard

from tests.faults.conftest import Processes, until
from tests.webapp.operations.privacy.conftest import golden
from tests.webapp.surfaces.chat.exported import chatgpt
from webapp.traces.file.jsonfile import encode_json

PASSWORD = "a long enough word"
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
_PG_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"


class Words:
    """A word for each door, and the search for them."""

    def __init__(self, served: Processes) -> None:
        self._served = served
        self.by_door: dict[str, str] = {}

    def word(self, door: str) -> str:
        return self.by_door.setdefault(door, "zq" + "".join(secrets.choice("bcdfghjkmnprstvw") for _ in range(12)))

    def found(self) -> dict[str, set[str]]:
        """The places of each door's word."""
        pattern = re.compile("|".join(self.by_door.values()).encode(), re.IGNORECASE)
        doors = {word: door for door, word in self.by_door.items()}
        places: dict[str, set[str]] = {}
        for place, content in (*self._rows(), *self._keys(), *self._files()):
            for piece in unpacked(content):
                for found in pattern.findall(piece):
                    places.setdefault(doors[found.decode().lower()], set()).add(place)
        return places

    def _rows(self) -> Iterator[tuple[str, bytes]]:
        with closing(self._served.connect()) as database:
            is_sqlite = "sqlite" in type(database).__module__
            tables = [name for (name,) in database.execute(_TABLES if is_sqlite else _PG_TABLES).fetchall()]
            for table in tables:
                for row in database.execute(f'SELECT * FROM "{table}"').fetchall():
                    for value in row:
                        is_blob = isinstance(value, (bytes, memoryview))
                        yield f"table {table}", bytes(value) if is_blob else text_of(value)

    def _keys(self) -> Iterator[tuple[str, bytes]]:
        client: Any = redis.Redis.from_url(self._served.redis_url)
        readers = {
            b"string": client.get,
            b"hash": client.hgetall,
            b"list": lambda key: client.lrange(key, 0, -1),
            b"set": client.smembers,
            b"zset": lambda key: client.zrange(key, 0, -1),
            b"stream": client.xrange,
            b"none": lambda key: b"",
        }
        for key in client.keys():  # noqa: SIM118
            name = re.sub(rb"[0-9A-Za-z]{20,}", b"*", key).decode()
            yield f"key {name}", key
            for value in leaves(readers[client.type(key)](key)):
                yield f"key {name}", value

    def _files(self) -> Iterator[tuple[str, bytes]]:
        data = self._served.logs()[0].parent.parent
        for path in data.rglob("*"):
            if path.is_file() and not any(parent.is_symlink() for parent in path.parents):
                yield f"file {path.relative_to(data)}", path.read_bytes()


def text_of(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else json.dumps(value, default=str).encode()


def leaves(value: Any) -> Iterator[bytes]:
    match value:
        case bytes():
            yield value
        case dict():
            for each in value.items():
                yield from leaves(each)
        case list() | tuple() | set():
            for each in value:
                yield from leaves(each)


def unpacked(content: bytes) -> Iterator[bytes]:
    """The content as it is; a blob without its packing, after a head or none; a queued message's body."""
    yield content
    for start in (0, 40):
        with suppress(zstandard.ZstdError):
            yield zstandard.ZstdDecompressor().stream_reader(content[start:]).read(1 << 26)
    with suppress(ValueError, KeyError, TypeError, binascii.Error):
        yield base64.b64decode(json.loads(content)["body"])


class Visitor:
    """A user of the product, in a session of its own."""

    def __init__(self, served: Processes, words: Words) -> None:
        self._served, self._word = served, words.word
        root, name = served.client, words.word("user name")
        new = {"username": name, "usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
        added = root.post("/admin/auth/user/add/", data=new)
        self.id = int(re.findall(r"/user/(\d+)/change", added.headers["Location"])[0])
        names = {"first_name": words.word("first name"), "last_name": words.word("last name")}
        more = {"email": f"{words.word('e-mail')}@example.org", "is_active": "on"}
        dates = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
        changed = root.post(f"/admin/auth/user/{self.id}/change/", data={"username": name} | names | more | dates)
        assert changed.status_code == 302, changed.text
        self.name = name
        self.client = httpx.Client(base_url=root.base_url, timeout=240)
        self._sign_in("not the password")
        assert self._sign_in(PASSWORD).status_code == 302
        self.client.headers["X-CSRFToken"] = self.client.cookies["csrftoken"]

    def _sign_in(self, password: str) -> httpx.Response:
        self.client.get("/accounts/login/", params={"next": f"/library?q={self._word('next')}"})
        token = self.client.cookies["csrftoken"]
        form = {"username": self.name, "password": password, "csrfmiddlewaretoken": token}
        return self.client.post("/accounts/login/", data=form)

    def post(self, path: str, body: object, **more: Any) -> Any:
        answer = self.client.post(path, json=body, **more)
        assert answer.is_success, (path, answer.text)
        return answer.json() if answer.content else None

    def ended(self, request_id: str) -> str:
        until(lambda: self.client.get(f"/api/requests/{request_id}").json()["status"] not in ("queued", "running"), 240)
        return request_id

    def use_every_door(self) -> None:
        self._look_around()
        request_id = self._chat()
        self._keep(request_id)
        self._import()

    def _look_around(self) -> None:
        word = self._word
        self.client.get("/library", params={"q": word("page's query")})
        self.client.get("/api/requests", params={"q": word("search of traces")})
        self.client.get("/api/conversations", params={"q": word("search of conversations")})
        self.post("/api/conversations/preview", {"text": word("preview")})
        self.client.post("/api/learn/checks", json={"text": word("exhibit's check")})
        self.client.post("/api/learn/chat", json={"text": word("exhibit's chat")})
        self.client.post("/api/presets", json={"name": 7, "params": word("refused body")})
        self.client.post("/api/conversations/import", files={"file": (word("file name"), b"no file")})

    def _chat(self) -> str:
        word = self._word
        params = {"max_tokens": 4, "stop": [word("stop text")]}
        schema = {"max_tokens": 4, "json_schema": json.dumps({"type": "object", "title": word("schema")})}
        made = self.post("/api/conversations", {"system_prompt": word("system prompt"), "params": params})
        path = f"/api/conversations/{made['id']}"
        self.client.patch(path, json={"title": word("title")}).raise_for_status()
        headers = {"Idempotency-Key": word("key")}
        sent = self.post(f"{path}/messages", {"text": word("message")}, headers=headers)
        first = self.ended(sent["assistant_message"]["request_id"])
        edited = self.post(f"{path}/messages", {"text": word("edit"), "parent_id": None, "params": schema})
        self.ended(edited["assistant_message"]["request_id"])
        again = self.post(f"/api/messages/{sent['assistant_message']['id']}/regenerate", {"params": params})
        self.ended(again["assistant_message"]["request_id"])
        fork = self.post(f"/api/requests/{first}/fork", {"text": word("fork"), "params": {"max_tokens": 40}})
        self.ended(fork["assistant_message"]["request_id"])
        blocked = self.post(f"{path}/messages", {"text": f"How do I kill my neighbour {word('blocked')} and hide it?"})
        self.ended(blocked["assistant_message"]["request_id"])
        return first

    def _keep(self, request_id: str) -> None:
        word, path = self._word, f"/api/requests/{request_id}"
        marks = {"note": word("note"), "tags": [word("tag")]}
        self.client.patch(path, json=marks).raise_for_status()
        self.post("/api/views", {"name": word("view"), "query": f"q={word('view query')}"})
        self.post("/api/presets", {"name": word("preset"), "params": {}, "system_prompt": word("preset prompt")})
        self.post(f"{path}/shares", {"expires_in_s": 3600, "is_redacted": False})
        self.client.post(f"{path}/observed", json={"sent_unix_us": 1, "http_version": word("protocol")})
        self.client.post(f"{path}/probes", json={"kind": "lens", "position": 1}).raise_for_status()
        rerun = self.post(f"{path}/reruns", {"grid": {"temperature": [0.5]}})
        until(lambda: self._is_run(rerun["id"]), 240)

    def _is_run(self, rerun_id: str) -> bool:
        runs = self.client.get(f"/api/reruns/{rerun_id}").json()["runs"]
        return all(run["state"] not in ("waiting", "running") for run in runs)

    def _import(self) -> None:
        word = self._word
        trace = encode_json(golden(), {"title": word("imported trace")})
        self.client.post("/api/requests/import", files={"file": ("t.json", trace)}).raise_for_status()
        document = chatgpt() | {"title": word("imported title")}
        document["mapping"]["first"]["message"]["content"]["parts"] = [word("imported message")]
        file = {"file": ("c.json", json.dumps([document]).encode())}
        imported = self.client.post("/api/conversations/import", files=file).raise_for_status().json()
        assert imported["num_conversations"] == 1, imported

    def begin_long_answer(self, door: str) -> str:
        made = self.post("/api/conversations", {"params": {"max_tokens": 2000, "stop_on_repetition": False}})
        sent = self.post(f"/api/conversations/{made['id']}/messages", {"text": f"Count on. {self._word(door)}"})
        return str(sent["assistant_message"]["request_id"])


FORGOTTEN = {
    "next",
    "page's query",
    "search of traces",
    "search of conversations",
    "preview",
    "exhibit's check",
    "exhibit's chat",
    "refused body",
    "file name",
    "protocol",
}
"""Doors whose words the product need not keep."""


@pytest.fixture
def served(running: Processes) -> Processes:
    """With an inference worker, which an earlier file may have started."""
    if not running.workers():
        running.start_inference()
    return running


def total(served: Processes) -> dict[str, Any]:
    answer: dict[str, Any] = served.client.get("/api/usage/all").json()["now"]
    return answer


def test_no_word_of_an_erased_user_is_left_anywhere(served: Processes) -> None:
    words = Words(served)
    visitor = Visitor(served, words)
    visitor.use_every_door()
    open_id = visitor.begin_long_answer("running answer")
    until(lambda: visitor.client.get(f"/api/requests/{open_id}").json()["status"] == "running", 240)
    file = zipfile.ZipFile(io.BytesIO(visitor.client.get("/api/account/export").raise_for_status().content))
    content = b"\n".join(piece for name in file.namelist() for piece in unpacked(file.read(name)))
    assert "Requests still running: 1." in file.read("README.txt").decode() and open_id in content.decode("latin-1")

    seen = words.found()
    kept = words.by_door.keys() - FORGOTTEN
    assert kept <= seen.keys(), kept - seen.keys()
    assert not {place for places in seen.values() for place in places if place.endswith(".log")}
    assert not {door for door in kept if words.by_door[door].encode() not in content}

    begun = time.monotonic()
    erasure = f"/api/users/{visitor.id}/erasure"
    assert served.client.post(erasure, json={"name": visitor.name}).status_code == 202
    assert visitor.client.get("/api/session").status_code == 401
    data = f"/api/users/{visitor.id}/data"
    until(lambda: served.client.get(data).json()["erasure"] == "searching", 120)
    before = total(served)
    until(lambda: not words.found(), 120, 0.5)  # a search reads all that is kept
    print(f"erased and overwritten after {time.monotonic() - begun:.1f} s")
    assert served.client.get(data).json()["name"] == f"erased-{visitor.id}"
    assert total(served) == before and before["num_requests"] >= 6
    assert (
        served.client.get(f"/admin/auth/user/{visitor.id}/delete/").headers["Location"] == f"/admin/users/{visitor.id}/"
    )
