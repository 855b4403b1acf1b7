"""Bad input of both families: each is refused in the family's form below 500, or is another valid call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from tests.webapp.api.families.calls import BODIES, COUNTS, SAID, call, key_of
from webapp.identity.keys.keys import create
from webapp.requests.models import Request

pytestmark = pytest.mark.django_db(transaction=True)
EVERY = pytest.mark.parametrize("path", BODIES)
NOT_CALLS = [
    b"", b"null", b"[]", b'"x"', b"{", b"}" * 9, b"\xff\xfe", b'{"model": "\xff"}', b"[" * 100_000, b'{"a":' * 5000,
    b'{"model": 1e999}', b'{"model":"\\ud800"}', b'{"model":"\\u0000"}', b"\0" * 50, b"NaN", b"-Infinity",
    b"\xef\xbb\xbf{}",
    b'{"model": ' + b"9" * 10_000 + b"}",
]  # fmt: skip
HUGE = [10**30, -(10**30), 2**63, 2**64, 1e308, -1e308]
NUMBERS = {
    "/v1/chat/completions": (
        "max_tokens", "max_completion_tokens", "temperature", "top_p", "n", "seed", "top_logprobs", "frequency_penalty",
        "presence_penalty", "top_k", "min_p", "repetition_penalty",
    ),
    "/v1/completions": ("max_tokens", "temperature", "top_p", "n", "seed", "logprobs", "best_of"),
    "/v1/responses": ("max_output_tokens", "temperature", "top_p", "seed", "top_logprobs", "max_tool_calls"),
    "/v1/messages": ("max_tokens", "temperature", "top_p", "top_k"),
    "/v1/embeddings": ("dimensions",),
}  # fmt: skip
HOSTILE = [
    "", " ", "sg-", "sg-" + "a" * 10_000, "sk-ant-api03-x", "' OR 1=1 --", "../../etc/passwd", "%00", "Bearer Bearer x",
    "🙂", "\u00ff\u00fe",
]  # fmt: skip
IMAGE = "data:image/png;base64,AAAA"


@pytest.fixture
def key(redis_client: object) -> str:
    return key_of()


@EVERY
def test_what_is_no_call_is_a_400(key: str, path: str) -> None:
    found = {data[:40]: call(path, data, key).status for data in NOT_CALLS}
    assert found == dict.fromkeys(found, 400)
    assert not Request.objects.exists()


@pytest.mark.parametrize("path", NUMBERS)
def test_a_huge_number_is_refused(key: str, path: str) -> None:
    """A seed may be any whole number, and the most calls of tools have no effect."""
    free = {(name, number) for name in ("seed", "max_tool_calls") for number in HUGE if isinstance(number, int)}
    tries = [(name, number) for name in NUMBERS[path] for number in HUGE if (name, number) not in free]
    found = {each: call(path, BODIES[path] | dict([each]), key).status for each in tries}
    assert found == dict.fromkeys(found, 400)


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_length_is_refused_by_the_name_that_the_client_gave(key: str, name: str) -> None:
    path = "/v1/chat/completions"
    body = {each: value for each, value in BODIES[path].items() if each != "max_tokens"}
    refusal = call(path, body | {name: -3}, key)
    assert (refusal.status, refusal.error["param"]) == (400, name)


def conversations(*wrong: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The messages in the place of each call's own."""
    for path in ("/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens"):
        yield path, {"messages": [*SAID, *wrong]}
    for path in ("/v1/responses", "/v1/responses/input_tokens"):
        yield path, {"input": [*SAID, *wrong]}


def refused(key: str, path: str, fields: dict[str, Any]) -> None:
    assert call(path, BODIES[path] | fields, key).status == 400


def test_an_unknown_role_is_refused(key: str) -> None:
    for role in ("robot", "", "User", "function", None, 1):
        for path, fields in conversations({"role": role, "content": "Hi"}):
            refused(key, path, fields)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/chat/completions", {"messages": [*SAID, {"role": "tool", "tool_call_id": "a", "content": "Noon."}]}),
        *((path, {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}]})
          for path in ("/v1/messages", "/v1/messages/count_tokens")),
        *((path, {"input": [*SAID, {"type": "function_call_output", "call_id": "a", "output": "Noon."}]})
          for path in ("/v1/responses", "/v1/responses/input_tokens")),
    ],
)  # fmt: skip
def test_a_result_without_a_call_is_refused(key: str, path: str, fields: dict[str, Any]) -> None:
    refused(key, path, fields)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/chat/completions", {"messages": [
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": IMAGE}}]}
        ]}),
        *((path, {"messages": [{"role": "user", "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
        ]}]}) for path in ("/v1/messages", "/v1/messages/count_tokens")),
        *((path, {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": IMAGE}]}]})
          for path in ("/v1/responses", "/v1/responses/input_tokens")),
    ],
)  # fmt: skip
def test_an_image_is_refused_where_the_model_reads_text_alone(key: str, path: str, fields: dict[str, Any]) -> None:
    refused(key, path, fields)


@EVERY
def test_a_hostile_key_is_a_401(redis_client: object, path: str) -> None:
    for secret in HOSTILE:
        raw = secret.encode().decode("latin-1")  # as a server hands over the bytes of a header
        for headers in ({"Authorization": f"Bearer {raw}"}, {"x-api-key": raw}):
            client = Client(raise_request_exception=False, headers=headers)
            response = client.post(path, json.dumps(BODIES[path]), content_type="application/json")
            assert response.status_code == 401, secret
            assert len(secret) < 4 or secret not in response.content.decode()


class TestMutations(TestCase):
    """Any bytes in any place, and any value in any field."""

    def setUp(self) -> None:
        user, _ = User.objects.get_or_create(username="alice")
        self.key = create(user.pk, "a test").secret

    @settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
    @given(st.sampled_from([*COUNTS, "/v1/embeddings"]), st.data())
    def test_no_byte_makes_the_server_fail(self, path: str, data: st.DataObject) -> None:
        whole = bytearray(json.dumps(BODIES[path]).encode())
        for _ in range(data.draw(st.integers(1, 3))):
            place = data.draw(st.integers(0, len(whole) - 1))
            whole[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=2))
        assert call(path, bytes(whole), self.key).status < 500

    @settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
    @given(st.sampled_from([*COUNTS, "/v1/embeddings"]), st.data())
    def test_no_value_makes_the_server_fail(self, path: str, data: st.DataObject) -> None:
        values = st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
            max_leaves=8,
        )
        name = data.draw(st.sampled_from([*BODIES[path], "tools", "tool_choice", "system", "instructions", "metadata"]))
        assert call(path, BODIES[path] | {name: data.draw(values)}, self.key).status < 500
