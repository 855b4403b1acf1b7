"""Text that the output check or a tool's check withholds is in no byte that the product sends, logs or keeps.

A scripted model writes it token by token. The message holds it backwards, so that no byte of it is the user's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
from websockets.sync.client import connect

from inference.protocol.tool_calls import written
from inference.tokenization.bundled import bundled_model
from inference.tokenization.gguf_metadata import read_metadata
from inference.tokenization.tokenizer import Tokenizer
from tests.conformance.conftest import Access
from tests.conformance.scripted.decoder import BACKWARDS, WRITE
from tests.conformance.scripted.leaks import Wanted, found_in
from tests.conformance.test_mcp_python import call
from tests.faults.conftest import Processes, until
from webapp.api.docs.openapi import build_openapi

SECRET = "sk-proj-Kz7Qw2Xv9Jb4Ym8Tn3Rf"
ADDRESS = "waldemar.quistorp@zwielicht-praxis.example"
CARD = "378282246310005"
IN_FILE = "ottokar.pfannenstiel@morgenrot-kanzlei.example"
REPLACED = "[API key]"
SAID = "Trumbelquax and Oswinthor"
"""What the check lets through of the same answers. The search has to find it, so that it looks in the right places."""
REWRITTEN = f"{SAID}: the key is {SECRET}, as you know."
BLOCKED = f"{SAID}. Write to {ADDRESS} today."
THOUGHT = f"<think>\nThe key is {SECRET} and no other.\n</think>\n\n{SAID}."
EXPRESSION = "((378282*1000+246)*1000+310)*1000+5"
CALL = WRITE + written("calculator", json.dumps({"expression": EXPRESSION}))
WITHHELD = {"rewritten": SECRET, "blocked": ADDRESS, "tool's result": CARD, "file": IN_FILE}
CODE = re.compile(rb"<(script|style)>.*?</\1>", re.DOTALL)
"""Of a page. Its data stand in an element with attributes."""
Bytes = dict[str, bytes]
"""All that was recorded, by the place where it was found."""
Found = dict[str, dict[str, list[str]]]
"""By place and by text, the ways in which it stands there."""


def backwards(answer: str) -> str:
    return BACKWARDS + answer[::-1]


ASKED = {
    "rewritten": backwards(REWRITTEN),
    "blocked": backwards(BLOCKED),
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(read_metadata(bundled_model()))


@pytest.fixture(scope="module")
def strict(site: Processes) -> Iterator[None]:
    """A policy that rewrites secrets in answers, and withholds personal data everywhere but in messages."""
    shown = site.client.get("/api/safety").raise_for_status().json()["versions"][0]
    put_in_force(site, shown, stricter(shown["thresholds"]))
    yield
    now = site.client.get("/api/safety").raise_for_status().json()["versions"][0]
    put_in_force(site, now, shown["thresholds"])


def stricter(thresholds: Any) -> Any:
    block = {layer: thresholds[layer] | {"block": {"pii": 0.5}} for layer in ("output", "tool_result")}
    output = block["output"] | {"rewrite": {"secret": 0.5}}
    return thresholds | block | {"output": output}


def put_in_force(site: Processes, shown: Any, thresholds: Any) -> None:
    body = {"thresholds": thresholds, "after": shown["version"]}
    site.client.put("/api/safety", json=body).raise_for_status()


@pytest.fixture(scope="module")
def recorded(site: Processes, access: Access, scripted: str, thinker: str, strict: None) -> Bytes:
    sent = Bytes()
    ids = {request_id for name in ASKED for request_id in chatted(site, scripted, name, ASKED[name], sent)}
    ids |= set(chatted(site, scripted, "call", CALL, sent, tools=["calculator"]))
    ids |= set(chatted(site, thinker, "thought", backwards(THOUGHT), sent))
    asked = [(scripted, name, text) for name, text in ASKED.items()] + [(thinker, "thought", backwards(THOUGHT))]
    sent_whole = {each for told in asked for each in called(access, *told, False, sent)}
    ids |= {each for told in asked for each in called(access, *told, True, sent)}
    refused_file(site)
    for request_id in ids | sent_whole:
        site.settled(request_id)
    # The trace of a request does not depend on how its answer was sent: one of the two is exported.
    for request_id in ids:
        sent |= shared(site, request_id) | explained(access, request_id)
    return sent | swept(site, ids) | kept(site)


def chatted(site: Processes, model: str, name: str, text: str, sent: Bytes, **more: Any) -> Iterator[str]:
    """Send a message on the page's way, and read the answer by both of the site's streams."""
    body = {"model": model} | more
    conversation = site.client.post("/api/conversations", json=body).raise_for_status().json()["id"]
    with socket_of(site) as events:
        request_id = site.say(conversation, text, max_tokens=400)
        events.send(json.dumps({"type": "follow", "tag": 1, "request_id": request_id, "after": "0"}))
        messages = [str(events.recv(60))]
        while '"end":true' not in messages[-1].replace(" ", ""):
            messages.append(str(events.recv(60)))
    sent[f"{name}: WebSocket"] = "\n".join(messages).encode()
    sent[f"{name}: SSE"] = site.client.get(f"/api/requests/{request_id}/events").content
    path = f"/api/conversations/{conversation}"
    for address in ("", "/export?format=json", "/export?format=markdown"):
        sent[f"{name}: conversation{address}"] = site.client.get(f"{path}{address}").content
    sent[f"figures of {name}"] = site.client.get(f"{path}/turns").content
    yield request_id


def socket_of(site: Processes) -> Any:
    address = str(site.client.base_url).rstrip("/")
    cookie = "; ".join(f"{name}={value}" for name, value in site.client.cookies.items())
    url = f"{address.replace('http', 'ws', 1)}/events"
    return connect(url, origin=address, additional_headers={"Cookie": cookie}, max_queue=None, max_size=None)


def called(access: Access, model: str, name: str, text: str, is_stream: bool, sent: Bytes) -> Iterator[str]:
    """Ask in the words of each API, for an answer that is streamed or sent whole."""
    told = [{"role": "user", "content": text}]
    probable = {"logprobs": True, "top_logprobs": 5}
    limit, output = {"max_tokens": 400}, {"max_output_tokens": 400}
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000} if name == "thought" else {}
    bodies: dict[str, Any] = {
        "/v1/chat/completions": {"messages": told} | limit | probable,
        "/v1/responses": {"input": text, "include": ["message.output_text.logprobs"]} | output,
        "/v1/messages": {"messages": told} | limit | thinking,
    }
    headers = {"Authorization": f"Bearer {access.key}", "anthropic-version": "2023-06-01"}
    with httpx.Client(base_url=access.address, headers=headers, timeout=240) as client:
        for path, body in bodies.items():
            answer = client.post(path, json={"model": model, "stream": is_stream} | body).raise_for_status()
            sent[f"{name}: {path}{' streamed' if is_stream else ''}"] = answer.content
            if found := re.search(rb'"id":\s*"(resp_\w+)"', answer.content):
                sent[f"{name}: {path} {is_stream} again"] = client.get(f"{path}/{found.group(1).decode()}").content
            yield answer.headers["sightglass-trace"].rsplit("/", 1)[-1]


def refused_file(site: Processes) -> None:
    """Upload a file that the policy blocks."""
    file = {"file": ("letter.txt", f"Dear sir, write to {IN_FILE} today.".encode(), "text/plain")}
    made = site.client.post("/api/attachments", files=file).raise_for_status().json()
    path, shown = f"/api/attachments/{made['id']}", dict[str, Any]()

    def is_read() -> bool:
        shown.update(site.client.get(path).json())
        return bool(shown["status"] != "reading")

    until(is_read, 120)
    assert shown["status"] == "refused" and "safety policy" in shown["reason"]


def shared(site: Processes, request_id: str) -> Bytes:
    """The trace as files and as public pages."""
    path, found = f"/api/requests/{request_id}", Bytes()
    for kind in ("html", "json", "otlp", "perfetto", "sgtrace"):
        for is_redacted in ("false", "true"):
            query = f"?format={kind}&redact={is_redacted}"
            found[f"{request_id} export{query}"] = site.client.get(f"{path}/export{query}").content
    link = site.client.post(f"{path}/shares", json={"expires_in_s": 300, "is_redacted": False})
    if link.status_code < 300:
        found[f"{request_id} shared"] = site.client.get(link.json()["path"]).content
    return found


def explained(access: Access, request_id: str) -> Bytes:
    """What an agent reads of the trace."""
    tools = ("read_trace", "explain_trace", "replay_trace")
    return {
        f"{request_id} {tool}": call(access, tool, request_id=request_id).model_dump_json().encode() for tool in tools
    }


def swept(site: Processes, ids: Collection[str]) -> Bytes:
    """All that the documented addresses show to an operator, whose requests these are too."""
    paths = build_openapi()["paths"]
    shown = [path for path, operations in paths.items() if "get" in operations and "tokenizer" not in path]
    user = site.client.get("/api/session").raise_for_status().json()["user"]["id"]
    of_user = [path for path in shown if not names_in(path) - {"target_id", "user_id"}]
    whole = [path.format(target_id=user, user_id=user) for path in of_user]
    own = [path.format(request_id=each) for path in shown if names_in(path) == {"request_id"} for each in ids]
    return {path: site.client.get(path).content for path in [*whole, *own, "/metrics", "/api/requests?q=Trumbelquax"]}


def names_in(path: str) -> set[str]:
    return set(re.findall(r"{(\w+)}", path))


def kept(site: Processes) -> Bytes:
    """All that the product holds: each value of Redis and of the database, and each file."""
    held = {f"log {path.name}": path.read_bytes() for path in site.logs()}
    held["Redis"] = b"\n".join(values_in_redis(site.redis_url))
    held["database"] = b"\n".join(values_in_database(site))
    files = (path for path in Path(site.data).rglob("*") if path.is_file() and not path.is_symlink())
    return held | {f"file {path.relative_to(site.data)}": path.read_bytes() for path in files}


def values_in_redis(url: str) -> Iterator[bytes]:
    client: Any
    with redis.Redis.from_url(url) as client:
        readers: dict[bytes, Callable[[bytes], Any]] = {
            b"string": client.get,
            b"list": lambda key: client.lrange(key, 0, -1),
            b"hash": client.hgetall,
            b"set": client.smembers,
            b"zset": lambda key: client.zrange(key, 0, -1),
            b"stream": client.xrange,
        }
        for key in client.scan_iter():
            yield key
            yield from flat(readers.get(client.type(key), lambda _: None)(key))


def values_in_database(site: Processes) -> Iterator[bytes]:
    with closing(site.connect()) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            yield from flat(database.execute(f'SELECT * FROM "{table}"').fetchall())


def flat(value: Any) -> Iterator[bytes]:
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, dict):
        yield from flat([*value.items()])
    elif isinstance(value, list | tuple | set):
        for each in value:
            yield from flat(each)
    elif value is not None:
        yield str(value).encode()


def written_ids(tokenizer: Tokenizer, answer: str, part: str) -> list[int]:
    """The tokens by which the model wrote a part of its answer."""
    ids, at = list[int](), 0
    start, end = answer.index(part), answer.index(part) + len(part)
    while at < end:
        token = tokenizer.encode(answer[at:])[0]
        at += len(tokenizer.piece(token).decode())
        ids += [token] if at > start else []
    return ids


@pytest.fixture(scope="module")
def found(recorded: Bytes, tokenizer: Tokenizer) -> Found:
    answers = {"rewritten": REWRITTEN, "blocked": BLOCKED}
    ids = {name: written_ids(tokenizer, answers[name], WITHHELD[name]) for name in answers}
    wanted = {name: Wanted(text, ids.get(name, ())) for name, text in WITHHELD.items()}
    wanted["the rest"] = Wanted(SAID, written_ids(tokenizer, REWRITTEN, SAID))
    apart = with_code_once(recorded)
    ways = {data: found_in(data, *wanted.values()) for data in set(apart.values())}
    return {place: dict(zip(wanted, ways[data], strict=True)) for place, data in apart.items()}


def with_code_once(recorded: Bytes) -> Bytes:
    """Take out of each page the code and style that all of them hold, and search these once. A page's data stay."""
    codes = {found.group() for data in recorded.values() for found in CODE.finditer(data)}
    alone = {f"code or style {number}": code for number, code in enumerate(codes)}
    return {place: CODE.sub(b"", data) for place, data in recorded.items()} | alone


@pytest.mark.parametrize("name", WITHHELD)
def test_no_byte_holds_what_was_withheld(found: Found, name: str) -> None:
    # The user's own file is no answer: SQLite's write-ahead log still has the rows that were deleted.
    places = [place for place in found if name != "file" or not place.startswith("file sightglass.sqlite3")]
    assert {place: found[place][name] for place in places if found[place][name]} == {}


@pytest.mark.parametrize("name", ["rewritten", "blocked", "thought"])
def test_the_search_finds_the_rest_of_the_answer(found: Found, name: str) -> None:
    streams = [place for place in found if place.startswith(f"{name}: ")]
    assert len(streams) > 10
    assert [place for place in streams if not found[place]["the rest"]] == []


def test_the_search_finds_the_ids_of_the_rest(found: Found) -> None:
    assert "token ids" in found["rewritten: WebSocket"]["the rest"]


KEPT = ("Redis", "database", "?format=json&redact=false", "?format=sgtrace&redact=false", "replay_trace", "/trace")


@pytest.mark.parametrize("place", KEPT)
def test_the_search_finds_it_in_what_is_kept(found: Found, place: str) -> None:
    assert [each for each in found if each.endswith(place) and found[each]["the rest"]]


def test_the_replacement_is_told_instead(recorded: Bytes) -> None:
    for place in ("rewritten: WebSocket", "rewritten: /v1/messages streamed", "thought: SSE"):
        assert REPLACED in recorded[place].decode(), place
    assert "does not allow personal data" in recorded["blocked: SSE"].decode()
    assert "does not allow personal data" in recorded["call: SSE"].decode()


def test_the_library_does_not_find_it(site: Processes, recorded: Bytes) -> None:
    for text in (SECRET, ADDRESS, CARD, IN_FILE):
        assert site.client.get("/api/requests", params={"q": text}).json()["requests"] == [], text
    assert recorded
