"""The choosing of tools: a scripted model answers, and the official clients of both families read the answer.

Grammar, guard, log and projections are real. The bundled model is too weak to choose.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import anthropic
import openai
import pytest

from inference.protocol.tool_calls import written
from tests.conformance.conftest import Access
from tests.conformance.scripted.decoder import WRITE

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}},
    "required": ["city"],
    "additionalProperties": False,
}
"""So narrow that a model that the grammar leads away from its script soon comes to an end."""
NAMES = ("weather", "time")
PARIS, ROME = ("weather", {"city": "Paris"}), ("time", {"city": "Rome"})
Called = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Heard:
    """An answer, in words that all families have."""

    text: str
    calls: tuple[Called, ...]
    end: str
    """`calls` or `stop`."""


Ask = Callable[..., Heard]
"""Asks with the two tools: `ask(script, choice="auto", is_stream=False, is_parallel=True)`."""


def script(text: str, *calls: Called) -> str:
    return text + "".join(written(name, json.dumps(arguments)) for name, arguments in calls)


@dataclass(frozen=True)
class Chat:
    """Chat completions."""

    client: openai.OpenAI
    model: str

    def ask(self, text: str, choice: str = "auto", is_stream: bool = False, is_parallel: bool = True) -> Heard:
        tools = [{"type": "function", "function": {"name": name, "parameters": CITY}} for name in NAMES]
        given: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": WRITE + text}],
            "tools": tools,
            "tool_choice": choice,
            "parallel_tool_calls": is_parallel,
        }
        if is_stream:
            with self.client.chat.completions.stream(**given) as stream:
                stream.until_done()
            (found,) = stream.get_final_completion().choices
        else:
            (found,) = self.client.chat.completions.create(**given).choices
        called = [each.function for each in found.message.tool_calls or ()]
        ends = {"tool_calls": "calls"}
        calls = tuple((each.name, json.loads(each.arguments)) for each in called)
        return Heard(found.message.content or "", calls, ends.get(found.finish_reason, found.finish_reason))


@dataclass(frozen=True)
class Responses:
    """OpenAI's responses."""

    client: openai.OpenAI
    model: str

    def ask(self, text: str, choice: str = "auto", is_stream: bool = False, is_parallel: bool = True) -> Heard:
        given: dict[str, Any] = {
            "model": self.model,
            "input": WRITE + text,
            "tools": [{"type": "function", "name": name, "parameters": CITY, "strict": False} for name in NAMES],
            "tool_choice": choice,
            "parallel_tool_calls": is_parallel,
        }
        if is_stream:
            with self.client.responses.stream(**given) as stream:
                stream.until_done()
            found = stream.get_final_response()
        else:
            found = self.client.responses.create(**given)
        calls = [each for each in found.output if each.type == "function_call"]
        assert found.status == "completed"
        called = tuple((each.name, json.loads(each.arguments)) for each in calls)
        return Heard(found.output_text, called, "calls" if calls else "stop")


@dataclass(frozen=True)
class Messages:
    """Anthropic's messages."""

    client: anthropic.Anthropic
    model: str

    def ask(self, text: str, choice: str = "auto", is_stream: bool = False, is_parallel: bool = True) -> Heard:
        kind: dict[str, Any] = {"type": {"required": "any"}.get(choice, choice)}
        if choice != "none":
            kind["disable_parallel_tool_use"] = not is_parallel
        given: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": WRITE + text}],
            "tools": [{"name": name, "input_schema": CITY} for name in NAMES],
            "tool_choice": kind,
            "max_tokens": 500,
        }
        if is_stream:
            with self.client.messages.stream(**given) as stream:
                found = stream.get_final_message()
        else:
            found = self.client.messages.create(**given)
        said = "".join(block.text for block in found.content if block.type == "text")
        calls = tuple((block.name, dict(block.input)) for block in found.content if block.type == "tool_use")  # type: ignore[call-overload]
        ends = {"tool_use": "calls", "end_turn": "stop"}
        return Heard(said, calls, ends[found.stop_reason or ""])


@pytest.fixture(params=["chat", "responses", "messages"])
def family(request: pytest.FixtureRequest, access: Access, scripted: str) -> Iterator[Chat | Responses | Messages]:
    options: dict[str, Any] = {"api_key": access.key, "max_retries": 0, "timeout": 120}
    if request.param == "messages":
        with anthropic.Anthropic(base_url=access.address, **options) as client:
            yield Messages(client, scripted)
    else:
        with openai.OpenAI(base_url=f"{access.address}/v1", **options) as client:
            yield Chat(client, scripted) if request.param == "chat" else Responses(client, scripted)


@pytest.fixture(params=[False, True], ids=["whole", "stream"])
def ask(request: pytest.FixtureRequest, family: Chat | Responses | Messages) -> Ask:
    return lambda text, **more: family.ask(text, is_stream=request.param, **more)


def test_auto_chooses_no_tool(ask: Ask) -> None:
    assert ask(script("It is noon.")) == Heard("It is noon.", (), "stop")


def test_auto_chooses_one_tool(ask: Ask) -> None:
    assert ask(script("", PARIS)) == Heard("", (PARIS,), "calls")


def test_auto_chooses_two_tools_at_once(ask: Ask) -> None:
    assert ask(script("", PARIS, ROME)) == Heard("", (PARIS, ROME), "calls")


def test_text_stands_before_a_call(ask: Ask) -> None:
    assert ask(script("I look that up. ", PARIS)) == Heard("I look that up. ", (PARIS,), "calls")


def test_text_stands_before_two_calls(ask: Ask) -> None:
    assert ask(script("Both, then. ", PARIS, ROME)) == Heard("Both, then. ", (PARIS, ROME), "calls")


def test_one_call_alone_where_the_client_wants_no_more(ask: Ask) -> None:
    assert ask(script("", PARIS, ROME), is_parallel=False) == Heard("", (PARIS,), "calls")


def test_a_text_that_only_looks_like_a_call_is_text(ask: Ask) -> None:
    text = 'A call begins with <tool, and goes on with {"name": "weather"}.'
    assert ask(text) == Heard(text, (), "stop")


def test_required_keeps_a_model_from_answering_in_words(ask: Ask) -> None:
    heard = ask("It is noon.", choice="required")
    assert (heard.text, heard.end) == ("", "calls")
    check(heard)


def test_none_keeps_a_call_in_the_text(ask: Ask) -> None:
    assert ask(script("", PARIS), choice="none") == Heard(script("", PARIS), (), "stop")


@pytest.mark.parametrize("wrong", [("rocket", {"city": "Paris"}), ("weather", {"town": "Paris"})])
def test_a_call_that_is_not_declared_never_leaves_the_server(ask: Ask, wrong: Called) -> None:
    heard = ask(script("", wrong))
    assert heard.end == "calls"
    check(heard)


def check(heard: Heard) -> None:
    """The calls are of declared tools, with their arguments."""
    assert heard.calls
    for name, arguments in heard.calls:
        assert name in NAMES and list(arguments) == ["city"] and isinstance(arguments["city"], str)
