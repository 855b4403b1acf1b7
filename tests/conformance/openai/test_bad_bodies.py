"""No body that a client may send makes the server fail: each answer is below 500 and in OpenAI's form."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.conformance.conftest import EMBEDDING_MODEL, SMALL_MODEL
from tests.faults.conftest import Processes

TOOL = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "model": SMALL_MODEL,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        ],
        "max_tokens": 1,
        "temperature": 0.5,
        "stop": ["a"],
        "seed": 1,
        "logit_bias": {"5": 1},
        "tools": [{"type": "function", "function": TOOL}],
        "tool_choice": "none",
        "stream_options": None,
        "metadata": {"a": "b"},
    },
    "/v1/completions": {"model": SMALL_MODEL, "prompt": ["Hi"], "max_tokens": 1, "logprobs": 1, "seed": 1, "n": 1},
    "/v1/embeddings": {"model": EMBEDDING_MODEL, "input": ["Hi"], "encoding_format": "float"},
    "/v1/responses": {
        "model": SMALL_MODEL,
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
        "max_output_tokens": 1,
        "instructions": "Be brief.",
        "metadata": {"a": "b"},
        "tools": [{"type": "function"} | TOOL],
        "tool_choice": "none",
        "text": {"format": {"type": "text"}},
        "top_logprobs": 1,
    },
}
BODIES["/v1/responses/input_tokens"] = BODIES["/v1/responses"]
STRANGE = [
    None, True, -1, 0, 10**30, -(10**30), 1e308, 0.1, "", "x", "\0", "\ud800", "𐏿" * 10, [], {}, [[]], [None],
    {"": None}, [{}], {"type": "x"}, {"role": "robot", "content": "x"}, "9" * 5000, [0] * 50,
]  # fmt: skip
WHOLE = [
    b"", b"null", b"[]", b'"x"', b"{", b"}" * 9, b"\xff\xfe", b'{"model": "\xff"}', b"[" * 100_000, b'{"a":' * 5000,
    b'{"model": 1e999}', b'{"model": "m", "model": "n"}', b'{"model":"\\ud800"}', b'{"model":"\\u0000"}',
    b"\0" * 50, b"NaN",
]  # fmt: skip


@pytest.fixture(scope="module")
def raw(small: Processes, small_key: str) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {small_key}", "Content-Type": "application/json"}
    with httpx.Client(base_url=small.client.base_url, headers=headers, timeout=60) as client:
        yield client


def placed(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a body."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in parts:
        yield from placed(each, (*path, name))


def changed(body: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    name, *rest = path
    copy = dict(body) if isinstance(body, dict) else list(body)
    copy[name] = changed(body[name], tuple(rest), value)
    return copy


def check(answer: httpx.Response, sent: object) -> None:
    assert answer.status_code < 500, (sent, answer.text)
    if answer.status_code >= 400:
        assert set(answer.json()["error"]) == {"message", "type", "param", "code"}, (sent, answer.text)


@pytest.mark.parametrize("path", BODIES)
def test_a_strange_value_in_any_place(raw: httpx.Client, path: str) -> None:
    places = list(placed(BODIES[path]))
    draw = random.Random(1)
    pairs = [(place, value) for place in places for value in STRANGE]
    for place, value in draw.sample(pairs, min(len(pairs), 100)):
        sent = json.dumps(changed(BODIES[path], place, value))
        check(raw.post(path, content=sent), sent[:300])


@pytest.mark.parametrize("path", BODIES)
def test_a_body_that_is_broken_at_any_byte(raw: httpx.Client, path: str) -> None:
    whole = json.dumps(BODIES[path]).encode()
    draw = random.Random(2)
    for _ in range(60):
        place = draw.randrange(len(whole))
        ways = [whole[:place], whole[:place] + bytes([draw.randrange(256)]) + whole[place + 1 :], whole[place:]]
        sent = draw.choice(ways)
        check(raw.post(path, content=sent), sent)


@pytest.mark.parametrize("path", BODIES)
def test_a_body_that_is_no_call(raw: httpx.Client, path: str) -> None:
    for sent in WHOLE:
        answer = raw.post(path, content=sent)
        check(answer, sent[:60])
        assert answer.status_code >= 400, sent[:60]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/responses/x", "/v1/responses/resp_%00", "/v1/responses/resp_x?stream=maybe",
        "/v1/responses/resp_x?starting_after=999999999999999999999999",
        "/v1/responses/%F0%9F%99%82/input_items?limit=-1",
        "/v1/models/%ff", "/v1/models/a/b/c", "/v1/nothing", "/v1/chat/completions",
    ],
)  # fmt: skip
def test_addresses_that_lead_nowhere(raw: httpx.Client, path: str) -> None:
    assert 400 <= raw.get(path).status_code < 500
