"""The Anthropic-compatible API without a worker: keys, errors in its form, counts, and bad input. Never a 5xx."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from tests.webapp.registered import CONFIGURED
from webapp.api.anthropic.models import OfferedModel, anthropic_model, anthropic_models
from webapp.ground.gateway.body import MAX_BODY_BYTES
from webapp.identity.keys.keys import create
from webapp.requests.models import Request

pytestmark = pytest.mark.django_db(transaction=True)
BODY: dict[str, Any] = {"model": CONFIGURED, "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]}


def signed_in() -> Client:
    user, _ = User.objects.get_or_create(username="alice")
    key = create(user.pk, "a test")
    return Client(raise_request_exception=False, headers={"x-api-key": key.secret})


@pytest.fixture
def alice(redis_client: object) -> Client:
    return signed_in()


def post(client: Client, body: object, path: str = "/v1/messages") -> tuple[int, dict[str, Any]]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = client.post(path, data, content_type="application/json")
    answer = response.json()
    if response.status_code >= 400:
        assert answer["request_id"] == response["request-id"]
        assert answer["type"] == "error"
    return response.status_code, answer


def counted(client: Client, **body: Any) -> int:
    status, answer = post(client, {"model": CONFIGURED, **body}, "/v1/messages/count_tokens")
    assert status == 200, answer
    return int(answer["input_tokens"])


def test_a_caller_without_a_key_is_refused_in_anthropics_form() -> None:
    status, answer = post(Client(), BODY)
    assert (status, answer["error"]["type"]) == (401, "authentication_error")


@pytest.mark.parametrize(
    ("change", "status", "kind", "told"),
    [
        ({"model": "nope"}, 404, "not_found_error", "no model 'nope'"),
        ({"model": "a\x00b"}, 404, "not_found_error", "no model"),
        ({"max_tokens": 0, "stream": True}, 400, "invalid_request_error", "Leave stream out"),
        ({"max_tokens": -1}, 400, "invalid_request_error", "max_tokens must be between 0"),
        ({"max_tokens": 10**30}, 400, "invalid_request_error", "max_tokens"),
        ({"max_tokens": "5"}, 400, "invalid_request_error", "max_tokens must be a whole number"),
        ({"max_tokens": None}, 400, "invalid_request_error", "max_tokens must be a whole number"),
        ({"temperature": 1.5}, 400, "invalid_request_error", "temperature must be from 0 to 1"),
        ({"top_p": 2}, 400, "invalid_request_error", "top_p must be greater than 0 and at most 1"),
        ({"top_k": -1}, 400, "invalid_request_error", "top_k must be between 0"),
        ({"stop_sequences": list("abcde")}, 400, "invalid_request_error", "stop_sequences takes at most 4 texts"),
        ({"stop_sequences": [""]}, 400, "invalid_request_error", "stop_sequences must have texts of 1 to 200"),
        ({"stop_sequences": ["\x00"]}, 400, "invalid_request_error", "stop_sequences has a NUL"),
        ({"tool_choice": {"type": "any"}}, 400, "invalid_request_error", "tool_choice needs tools"),
        ({"colour": "red"}, 400, "invalid_request_error", "no field colour"),
        ({"container": "c"}, 400, "invalid_request_error", "container is not supported"),
        ({"cache_control": {"type": "ephemeral", "ttl": "1d"}}, 400, "invalid_request_error", "cache_control.ttl"),
        ({"cache_control": {"type": "lasting"}}, 400, "invalid_request_error", "cache_control.type"),
        (
            {"output_config": {"format": {"type": "json_schema", "schema": {"type": "zzz"}}}},
            400,
            "invalid_request_error",
            "output_config.format.schema cannot be used",
        ),
        (
            {"messages": [{"role": "user", "content": "a" * 300_000}]},
            413,
            "request_too_large",
            "messages[0]: The text has 300,000 bytes",
        ),
    ],
)
def test_a_wrong_field_is_refused_by_anthropics_name(
    alice: Client, change: dict[str, Any], status: int, kind: str, told: str
) -> None:
    found, answer = post(alice, BODY | change)
    assert (found, answer["error"]["type"]) == (status, kind), answer
    assert told in answer["error"]["message"]
    assert not Request.objects.exists()


@pytest.mark.parametrize(
    ("choice", "told"),
    [({"type": "tool", "name": "nope"}, "'nope', which is not among the tools"), ({"type": "some"}, "tool_choice")],
)
def test_a_choice_of_no_declared_tool_is_refused(alice: Client, choice: dict[str, Any], told: str) -> None:
    tools = [{"name": "clock", "input_schema": {"type": "object"}}]
    status, answer = post(alice, BODY | {"tools": tools, "tool_choice": choice})
    assert status == 400
    assert told in answer["error"]["message"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"model": "\xff"}',
        b'{"model": "m", "messages": [{"role": "user", "content": "\\ud800"}]}',
        b'{"model": "m", "max_tokens": 1e400, "messages": []}',
        b"[" * 100_000,
        b'{"model": 1, "model": "m", "messages": {}}',
    ],
)
def test_what_is_no_body_is_a_400(alice: Client, data: bytes) -> None:
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        status, answer = post(alice, data, path)
        assert (status, answer["error"]["type"]) == (400, "invalid_request_error")


def test_a_body_that_is_too_large_is_a_413(alice: Client) -> None:
    status, answer = post(alice, b" " * (MAX_BODY_BYTES + 1))
    assert (status, answer["error"]["type"]) == (413, "request_too_large")


def test_another_method_is_refused(alice: Client) -> None:
    response = alice.get("/v1/messages")
    assert (response.status_code, response.json()["error"]["type"]) == (405, "invalid_request_error")


def test_a_key_for_other_features_counts_nothing(redis_client: object) -> None:
    user = User.objects.create(username="bob")
    client = Client(headers={"x-api-key": create(user.pk, "a test", features=["embeddings"]).secret})
    body = {"model": CONFIGURED, "messages": BODY["messages"]}
    status, answer = post(client, body, "/v1/messages/count_tokens")
    assert (status, answer["error"]["type"]) == (403, "permission_error")


@pytest.mark.parametrize("path", ["/v1/nope", "/v1/messages/nope", "/v1/"])
def test_an_unknown_address_is_refused_in_the_form_of_the_client(alice: Client, path: str) -> None:
    response = alice.post(path, b"{}", content_type="application/json", headers={"anthropic-version": "2023-06-01"})
    assert (response.status_code, response.json()["type"]) == (404, "error")
    assert "type" in alice.get("/v1/nope").json()["error"]


def test_a_count_grows_with_each_part_of_the_prompt(alice: Client) -> None:
    messages = [{"role": "user", "content": "What time is it?"}]
    tools = [{"name": "clock", "input_schema": {"type": "object"}}]
    alone = counted(alice, messages=messages, system="Be brief.")
    assert 0 < alone < counted(alice, messages=messages, system="Be brief.", tools=tools)
    longer = [*messages, {"role": "assistant", "content": "It is"}]
    assert alone < counted(alice, messages=longer, system="Be brief.")


def test_a_prompt_longer_than_the_window_is_counted_all_the_same(alice: Client) -> None:
    assert counted(alice, messages=[{"role": "user", "content": "a b " * 10_000}]) > 20_000


def test_models_have_anthropics_form() -> None:
    rows = [OfferedModel("a", "Model A", 8192), OfferedModel("b", "b")]
    found = anthropic_models(rows)
    assert (found.first_id, found.last_id, found.has_more) == ("a", "b", False)
    assert (found.data[0].display_name, found.data[0].max_input_tokens) == ("Model A", 8192)
    assert anthropic_model(rows[1]).max_tokens is None
    assert anthropic_models([]).first_id is None


class TestBytes(TestCase):
    """A body with wrong bytes is refused, or is another valid body; it never makes the server fail."""

    @given(
        st.sampled_from(
            [
                {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]},
                {"tools": [{"name": "a", "input_schema": {"type": "object", "properties": {"b": {"type": "string"}}}}]},
                {"system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]},
            ]
        ),
        st.data(),
    )
    def test_no_byte_makes_the_server_fail(self, more: dict[str, Any], data: st.DataObject) -> None:
        body = {name: value for name, value in (BODY | more).items() if name != "max_tokens"}
        whole = bytearray(json.dumps(body).encode())
        for _ in range(data.draw(st.integers(1, 3))):
            place = data.draw(st.integers(0, len(whole) - 1))
            whole[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=2))
        status, _ = post(signed_in(), bytes(whole), "/v1/messages/count_tokens")
        assert status < 500
