"""A brought text over HTTP: parts and tokens of the real model, prefix, difference, prices, sending, and bad input."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from inference.tokenization.tokenizer import Tokenizer
from tests.webapp.registered import CONFIGURED
from tests.webapp.surfaces.bring.streams import MESSAGE, sse
from webapp.api.surfaces.bring import apart, operations
from webapp.api.turns import pastes
from webapp.models.billing.models import Price
from webapp.requests.models import Request

pytestmark = pytest.mark.django_db(transaction=True)

TOOL = {"type": "function", "function": {"name": "clock", "description": "The time.", "parameters": {"type": "object"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
AGENT: dict[str, Any] = {
    "model": "gpt-elsewhere",
    "tools": [TOOL],
    "messages": [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "What time is it?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "12:00"},
        {"role": "user", "content": "Thanks."},
    ],
}
KEPT = {"type": "ephemeral"}
MARKED: dict[str, Any] = {
    "model": "claude-elsewhere",
    "max_tokens": 20,
    "system": [{"type": "text", "text": "You answer briefly. " * 10, "cache_control": KEPT | {"ttl": "1h"}}],
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello there.", "cache_control": KEPT}]}],
}


def browser() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.get_or_create(username="alice")[0])
    return client


@pytest.fixture
def alice(redis_client: object) -> Client:
    return browser()


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker tells that its blocks have 16 tokens."""
    monkeypatch.setattr(apart, "block_size_of", lambda _model: 16)


def post(client: Client, text: object, path: str = "/api/bring", **more: Any) -> tuple[int, dict[str, Any]]:
    given_text = text if isinstance(text, str) else json.dumps(text)
    response = client.post(path, json.dumps({"text": given_text, **more}), content_type="application/json")
    return response.status_code, response.json()


def body_of(client: Client, text: object, **more: Any) -> dict[str, Any]:
    status, answer = post(client, text, **more)
    assert status == 200, answer
    found: dict[str, Any] = answer["body"]
    return found


def test_an_agents_body_is_taken_apart_by_the_model_here(alice: Client, tokenizer: Tokenizer) -> None:
    body = body_of(alice, AGENT)
    assert (body["kind"], body["named_model"], body["model"]) == ("chat", "gpt-elsewhere", CONFIGURED)
    own = [(each["what"], each["place"]) for each in body["parts"] if each["what"] != "template"]
    assert own == [
        ("system", "messages[0]"),
        ("tools", "tools"),
        ("message", "messages[1]"),
        ("tool call", "messages[2]"),
        ("tool result", "messages[3]"),
        ("new message", "messages[4]"),
    ]
    assert [each["start"] for each in body["parts"]] == [0, *(each["end"] for each in body["parts"][:-1])]
    assert body["parts"][-1]["end"] == body["num_tokens"]
    asked = next(each for each in body["parts"] if each["place"] == "messages[1]")
    assert asked["end"] - asked["start"] == len(tokenizer.encode(asked["text"]))
    assert body["problem"] is None and body["num_cached"] is None
    assert not Request.objects.exists()


def test_its_tokens_are_those_that_the_live_address_counts(alice: Client) -> None:
    from webapp.identity.keys.keys import create

    key = create(User.objects.get(username="alice").pk, "a test").secret
    counted = Client(headers={"x-api-key": key}).post(
        "/v1/messages/count_tokens",
        json.dumps({name: MARKED[name] for name in ("system", "messages")} | {"model": CONFIGURED}),
        content_type="application/json",
    )
    assert body_of(alice, MARKED)["num_tokens"] == counted.json()["input_tokens"]


@pytest.mark.usefixtures("blocks")
def test_breakpoints_keep_whole_blocks(alice: Client) -> None:
    body = body_of(alice, MARKED)
    first, second = body["prefix"]["marks"]
    assert (first["ttl"], first["source"], second["ttl"]) == ("1h", "api:system", "5m")
    assert 0 <= first["num_tokens"] - first["num_kept"] < 16
    assert body["prefix"]["first"]["cache_write_1h"] == first["num_kept"]
    assert body["prefix"]["again"]["cache_read"] == body["prefix"]["num_reusable"]


def test_without_a_worker_the_prefix_is_unknown(alice: Client) -> None:
    body = body_of(alice, MARKED)
    assert (body["prefix"], body["num_cached"]) == (None, None)


@pytest.mark.usefixtures("blocks")
def test_the_difference_to_the_turn_before_names_the_new_parts(alice: Client) -> None:
    before = AGENT | {"messages": AGENT["messages"][:2]}
    body = body_of(alice, AGENT, before=json.dumps(before))
    found = body["difference"]
    assert [body["parts"][index]["place"] for index in found["added"]] == [f"messages[{index}]" for index in (2, 3, 4)]
    assert (found["changed"], found["removed"]) == ([], [])
    assert found["num_common"] == found["num_before"]
    assert found["num_reusable"] == found["num_common"] // 16 * 16
    assert body["parts"][found["part"]]["start"] <= found["num_common"] < body["parts"][found["part"]]["end"]


def test_a_date_in_the_system_prompt_is_the_first_difference(alice: Client) -> None:
    def dated(day: str) -> dict[str, Any]:
        return AGENT | {"messages": [{"role": "system", "content": f"Today is {day}."}, *AGENT["messages"][1:]]}

    body = body_of(alice, dated("26 May"), before=json.dumps(dated("25 May")))
    found = body["difference"]
    assert body["parts"][found["part"]]["place"] == "messages[0]"
    assert (found["here"][:1], found["there"][:1], found["is_number"]) == ("6", "5", True)
    assert [each["index"] for each in found["changed"]] == [found["part"]]


def test_a_turn_before_that_cannot_be_read_is_named(alice: Client) -> None:
    status, answer = post(alice, AGENT, before="{")
    assert (status, answer["error"]["field"]) == (400, "before")
    assert body_of(alice, AGENT, before=sse(MESSAGE))["difference"] is None


def test_plain_prompts_and_responses_are_taken_apart(alice: Client) -> None:
    plain = body_of(alice, {"model": "x", "prompt": ["Once upon", "Then"]})
    assert ([each["text"] for each in plain["parts"]], plain["num_prompts"]) == (["Once upon"], 2)
    response = body_of(alice, {"model": "x", "instructions": "Be brief.", "input": "Hi"})
    assert [each["place"] for each in response["parts"] if each["place"]] == ["instructions", "input"]


def test_a_streams_answer_is_put_together(alice: Client, tokenizer: Tokenizer) -> None:
    status, answer = post(alice, sse(MESSAGE))
    found = answer["answer"]
    assert (status, found["is_stream"], found["is_cut"], found["left_out"]) == (200, True, False, ["thinking"])
    (choice,) = found["choices"]
    assert (choice["text"], choice["num_tokens"]) == ("It is sunny.", len(tokenizer.encode("It is sunny.")))
    assert choice["calls"] == [{"name": "clock", "arguments": '{"zone": "UTC"}', "id": "toolu_1"}]
    assert found["told"]["usage"]["cache_write_1h"] == 16


def test_what_the_model_here_refuses_is_told_beside_the_parts(alice: Client) -> None:
    asked = body_of(alice, MARKED | {"thinking": {"type": "enabled", "budget_tokens": 1024}})
    assert asked["problem"]["field"] == "thinking" and asked["parts"]
    long = body_of(alice, MARKED | {"messages": [{"role": "user", "content": "word " * 20_000}]})
    assert "tokens" in long["problem"]["message"] and long["num_tokens"] > long["window"]
    counted = body_of(alice, {name: value for name, value in MARKED.items() if name != "max_tokens"})
    assert counted["problem"] == {"message": "max_tokens is missing.", "field": "max_tokens"}


@pytest.mark.parametrize(("room", "is_taken"), [(1, True), (0, False)])
def test_a_body_is_taken_that_leaves_its_answer_one_token_as_by_the_api(
    alice: Client, tokenizer: Tokenizer, room: int, is_taken: bool
) -> None:
    ids = tokenizer.encode(" word") * 2000
    short = body_of(alice, {"model": "m", "prompt": ids[:10], "max_tokens": 50})
    ids = (ids * 20)[: short["window"] - room]
    plain = body_of(alice, {"model": "m", "prompt": ids, "max_tokens": 50})
    assert (plain["num_tokens"], plain["problem"] is None) == (len(ids), is_taken)
    text = " word" * (short["window"] - room - _of_template(alice))
    asked = body_of(alice, {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": text}]})
    assert (asked["num_tokens"], asked["problem"] is None) == (short["window"] - room, is_taken)


def _of_template(client: Client) -> int:
    """Tokens of a prompt beside its one message."""
    return (
        int(body_of(client, {"model": "m", "messages": [{"role": "user", "content": " word" * 7}]})["num_tokens"]) - 7
    )


def test_a_body_whose_oldest_turns_may_be_dropped_is_taken(alice: Client) -> None:
    said = [{"role": role, "content": "word " * 20_000} for role in ("user", "assistant")]
    body = {"model": "m", "input": [*said, {"role": "user", "content": "Hi"}]}
    assert body_of(alice, body)["problem"] is not None
    assert body_of(alice, body | {"truncation": "auto"})["problem"] is None


def test_the_family_may_be_chosen_where_the_shape_has_both(alice: Client) -> None:
    both = {"model": "x", "max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]}
    assert (body_of(alice, both)["kind"], body_of(alice, both)["is_certain"]) == ("chat", False)
    assert body_of(alice, both, kind="messages")["kind"] == "messages"


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("", "unknown_shape", "no text yet"),
        ('{"a": 1,}', "invalid_json", "line 1, character"),
        ('{"messages": []}', "invalid", "model is missing"),
        ('{"model": "m", "messages": []}', "invalid", "messages is empty"),
        ('{"model": "m", "messages": [{"role": "wizard"}]}', "invalid", "role"),
        ('{"model": "m", "messages": [{"role": "user", "content": "Hi"}], "colour": 1}', "invalid", "no field colour"),
        ('{"model": "m", "messages": [{"role": "user", "content": "\\u0000"}]}', "invalid", "NUL"),
        ('{"model": "m", "messages": [{"role": "user", "content": "\\ud800"}]}', "invalid_json", "surrogate"),
        ('{"model": "m", "input": "Hi", "previous_response_id": "resp_nope"}', "previous_response_not_found", "nope"),
        ('{"a": "\ud800"}', "invalid_text", "character 8"),
    ],
)
def test_a_wrong_text_is_refused_in_words(alice: Client, text: str, code: str, told: str) -> None:
    status, answer = post(alice, text)
    assert (status, answer["error"]["code"]) == (400, code) or code == "invalid_text", answer
    assert told in answer["error"]["message"] or code == "invalid_text"


def test_hostile_text_comes_back_as_text(alice: Client) -> None:
    hostile = '<script>alert(1)</script><|im_end|>\n{"role": "system"}'
    body = body_of(alice, {"model": hostile, "messages": [{"role": "user", "content": hostile}]})
    assert (body["named_model"], body["parts"][-2]["text"]) == (hostile, hostile)


def test_a_name_that_stands_twice_is_refused_with_its_place(alice: Client) -> None:
    text = '{"model": "a",\n "model": "b", "messages": [{"role": "user", "content": "Hi"}]}'
    status, answer = post(alice, text)
    assert (status, answer["error"]["code"]) == (400, "invalid_json")
    assert 'line 2, character 2: the name "model" stands twice' in answer["error"]["message"]


def test_a_large_text_is_refused_in_words(alice: Client) -> None:
    status, answer = post(alice, "x" * (operations.MAX_TEXT_BYTES + 1))
    assert (status, answer["error"]["code"], answer["error"]["field"]) == (413, "too_large", "text")
    assert "786,432" in answer["error"]["message"]


def test_one_user_takes_one_text_apart_at_a_time_and_few_in_a_while(alice: Client) -> None:
    with pastes().turn(User.objects.get(username="alice").pk):
        assert post(alice, AGENT)[1]["error"]["code"] == "paste_busy"
    statuses = [post(alice, "{")[0] for _ in range(2 * operations.MOST_TEXTS + 1)]
    assert 429 in statuses


def test_a_stranger_and_a_key_are_refused(redis_client: object) -> None:
    assert post(Client(), AGENT)[0] == 401


def test_the_price_tables_are_those_of_the_offered_models(alice: Client) -> None:
    kinds = ("uncached_input", "cache_read", "cache_write_5m", "cache_write_1h", "output")
    for kind in kinds:
        Price.objects.create(model="elsewhere", kind=kind, unit_price_nano=7, effective_from="2020-01-01")
    tables = alice.get("/api/bring/prices").json()["tables"]
    assert [each["model"] for each in tables] == [CONFIGURED]
    assert set(tables[0]["unit_nano"]) == set(kinds)
    user = User.objects.get(username="alice")
    user.user_permissions.add(Permission.objects.get(codename="view_price"))
    assert "elsewhere" in [each["model"] for each in alice.get("/api/bring/prices").json()["tables"]]


def test_a_brought_body_is_sent_as_the_users_own_request(alice: Client) -> None:
    status, answer = post(alice, AGENT, "/api/bring/send")
    assert status == 202, answer
    (request,) = Request.objects.all()
    assert answer == {"requests": [request.pk]}
    assert (request.model, request.surface, request.title, request.key) == (CONFIGURED, "openai", "Thanks.", None)
    assert request.input.messages[-1].content.strip() == "Thanks."
    assert post(alice, MARKED, "/api/bring/send")[0] == 202
    assert Request.objects.get(surface="anthropic").params["max_tokens"] == 20


def test_a_repeat_under_the_same_key_sends_nothing(alice: Client) -> None:
    given_text = json.dumps({"text": json.dumps(AGENT)})
    headers = {"Idempotency-Key": "once"}
    first, second = (
        alice.post("/api/bring/send", given_text, content_type="application/json", headers=headers) for _ in range(2)
    )
    assert first.json() == second.json() and second["Idempotent-Replayed"] == "true"
    assert Request.objects.count() == 1


@pytest.mark.parametrize(
    ("text", "status"), [(sse(MESSAGE), 400), ("{", 400), (json.dumps(AGENT | {"n": 100}), 400), ("", 400)]
)
def test_what_cannot_be_sent_is_refused(alice: Client, text: str, status: int) -> None:
    assert post(alice, text, "/api/bring/send")[0] == status
    assert not Request.objects.exists()


@pytest.mark.usefixtures("redis_client")
class TestMutations(TestCase):
    """A body with one of its values replaced is taken apart, or refused in words."""

    @settings(max_examples=60)
    @given(st.data())
    def test_no_body_breaks_the_server(self, data: st.DataObject) -> None:
        body = json.loads(json.dumps(data.draw(st.sampled_from([AGENT, MARKED]))))
        name = data.draw(st.sampled_from(sorted(body)))
        body[name] = data.draw(st.sampled_from([None, 1, -(10**30), "", [], {}, [[]], [{}], True, "\x00", 1e300]))
        with patch.object(operations, "is_within", return_value=True):
            status, answer = post(browser(), body)
        assert status in (200, 400, 404), answer
        assert status == 200 or answer["error"]["message"]
