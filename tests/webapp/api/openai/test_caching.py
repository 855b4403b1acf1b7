"""OpenAI's options and breakpoints of prompt caching, as what the cache promises, or as a refusal that names them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.webapp.api.families.calls import BODIES, Answer, call, key_of
from webapp.api.openai import chat
from webapp.api.openai.responses import parse
from webapp.api.openai.responses.shapes import ResponseBody
from webapp.api.openai.shapes import ChatBody
from webapp.requests.models import Request

pytestmark = pytest.mark.django_db(transaction=True)
PARTS = {"/v1/chat/completions": ("messages", "text"), "/v1/responses": ("input", "input_text")}
EACH = pytest.mark.parametrize("path", PARTS)
EXPLICIT = {"mode": "explicit"}


@pytest.fixture
def key(redis_client: object) -> str:
    return key_of()


def body_of(path: str, *marks: Any, **fields: Any) -> dict[str, Any]:
    """A system prompt, and a user's message of one part for each mark."""
    name, kind = PARTS[path]
    parts: list[dict[str, Any]] = [
        {"type": kind, "text": f"Part {number}."} | ({} if mark is None else {"prompt_cache_breakpoint": mark})
        for number, mark in enumerate(marks)
    ]
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]
    return BODIES[path] | {name: said} | fields


def kept(path: str, *marks: Any, **fields: Any) -> list[str | None]:
    """The breakpoint after each text of the call's prompt."""
    body = body_of(path, *marks, **fields)
    if path == "/v1/responses":
        messages = parse.call_of(msgspec.convert(body, ResponseBody), user_id=1).messages
    else:
        messages = chat.call_of(msgspec.convert(body, ChatBody)).messages
    return [each.breakpoint for each in messages]


def refusal(path: str, key: str, *marks: Any, **fields: Any) -> Answer:
    answer = call(path, body_of(path, *marks, **fields), key)
    assert answer.status == 400 and not Request.objects.exists()
    return answer


@EACH
def test_without_options_nothing_is_promised(path: str) -> None:
    assert kept(path, None) == [None, None]


@EACH
@pytest.mark.parametrize("options", [{}, {"ttl": "30m"}, {"mode": "implicit"}])
def test_options_keep_the_whole_prompt(path: str, options: dict[str, str]) -> None:
    assert kept(path, None, prompt_cache_options=options) == [None, "1h"]


@EACH
def test_a_breakpoint_keeps_the_prompt_up_to_its_part(path: str) -> None:
    assert kept(path, EXPLICIT, None) == [None, "1h", None]
    half_an_hour = EXPLICIT | {"ttl": "30m"}
    assert kept(path, half_an_hour, None, prompt_cache_options={"mode": "explicit"}) == [None, "1h", None]
    assert kept(path, EXPLICIT, None, prompt_cache_options={"mode": "implicit"}) == [None, "1h", "1h"]


@EACH
def test_of_many_breakpoints_the_latest_four_count(path: str) -> None:
    assert kept(path, *[EXPLICIT] * 6) == [None] * 3 + ["1h"] * 4
    assert kept(path, *[EXPLICIT] * 5, None, prompt_cache_options={}) == [None] * 3 + ["1h"] * 4


@EACH
def test_a_result_of_a_tool_is_kept_up_to_its_last_part(path: str) -> None:
    called = {"name": "now", "arguments": "{}"}
    if path == "/v1/responses":
        part = {"type": "input_text", "text": "Noon", "prompt_cache_breakpoint": EXPLICIT}
        said: list[dict[str, Any]] = [
            {"type": "function_call", "call_id": "a", **called},
            {"type": "function_call_output", "call_id": "a", "output": [part]},
        ]
        assert kept(path, input=said) == [None, "1h"]
    else:
        part = {"type": "text", "text": "Noon", "prompt_cache_breakpoint": EXPLICIT}
        said = [
            {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": called}]},
            {"role": "tool", "tool_call_id": "a", "content": [part]},
        ]
        assert kept(path, messages=said) == [None, "1h"]


@EACH
@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"ttl": "12h"}, "ttl"),
        ({"mode": "explicit"}, "mode"),
        ({"prewarm": True}, "prewarm"),
        ({"comparison_response_id": "resp_1"}, "comparison_response_id"),
    ],
)
def test_what_the_cache_cannot_promise_is_refused_by_its_name(
    key: str, path: str, options: dict[str, Any], field: str
) -> None:
    error = refusal(path, key, None, prompt_cache_options=options).error
    assert (error["code"], error["param"]) == ("unsupported_value", f"prompt_cache_options.{field}")


@EACH
@pytest.mark.parametrize("mark", [{"mode": "explicit", "ttl": "12h"}, {"mode": "implicit"}, {}, True])
def test_a_breakpoint_of_another_form_is_refused(key: str, path: str, mark: Any) -> None:
    refusal(path, key, mark)


@EACH
@pytest.mark.parametrize("options", [{"ttl": "5m"}, {"ttl": 30}, {"mode": "automatic"}, {"other": 1}, [], "30m"])
def test_options_of_another_form_are_refused(key: str, path: str, options: Any) -> None:
    refusal(path, key, None, prompt_cache_options=options)


@EACH
@pytest.mark.parametrize("retention", ["48h", 24, []])
def test_a_retention_of_another_form_is_refused(key: str, path: str, retention: Any) -> None:
    refusal(path, key, None, prompt_cache_retention=retention)


def test_a_response_says_which_options_were_applied(key: str) -> None:
    path = "/v1/responses"
    for options, told in (({}, {"mode": "implicit", "ttl": "30m"}), (None, None)):
        found = call(path, body_of(path, None, background=True, prompt_cache_options=options), key)
        assert (found.status, found.body["prompt_cache_options"]) == (200, told)
