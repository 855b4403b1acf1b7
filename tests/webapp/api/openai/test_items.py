"""A conversation of items as the model's messages: what it wrote itself comes back as it wrote it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from inference.protocol.tool_calls import written
from tests.webapp.api.openai.golden_logs import answers, whole
from webapp.api.openai.responses.items import Item, answer_items, items_of, said_of
from webapp.ground.context.tools import result
from webapp.ground.gateway.errors import ApiError
from webapp.surfaces.calls.messages import messages_of
from webapp.surfaces.calls.pictures import CallPictures

NONE = CallPictures("m")
PREFIX = "call_1"


def no_reference(item_id: str, place: str) -> Item:
    raise ApiError(404, "not_found", item_id, place)


def texts_of(items: list[Item]) -> list[tuple[str, str]]:
    """Role and whole text of each message."""
    found: list[tuple[str, str]] = []
    for each in messages_of(said_of(items), ()):
        if each.is_continued:
            found[-1] = (each.role, found[-1][1] + each.content)
        else:
            found.append((each.role, each.content))
    return found


def results(num: int) -> list[dict[str, Any]]:
    return [
        {"type": "function_call_output", "call_id": f"{PREFIX}_{index}", "output": f"r{index}"} for index in range(num)
    ]


@given(answers())
def test_an_answer_before_is_read_as_it_was_written(answer: tuple[str, list[tuple[str, str]]]) -> None:
    text, calls = answer
    items = [
        *items_of("Hi", "input", no_reference, NONE),
        *answer_items(PREFIX, whole(text, calls), has_calls=True),
        *items_of([*results(len(calls)), {"role": "user", "content": "Go on"}], "input", no_reference, NONE),
    ]
    told = "\n".join(result(f"r{index}") for index in range(len(calls)))
    said = [("user", "Hi"), ("assistant", whole(text, calls)), ("user", f"{told}\n\nGo on" if calls else "Go on")]
    if not whole(text, calls):
        said = [("user", "Hi\n\nGo on")]
    assert texts_of(items) == said


@given(answers())
def test_a_client_that_sends_all_items_says_the_same(answer: tuple[str, list[tuple[str, str]]]) -> None:
    text, calls = answer
    output: list[dict[str, Any]] = []
    if text:
        output.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
    for index, (name, arguments) in enumerate(calls):
        output.append({"type": "function_call", "call_id": f"{PREFIX}_{index}", "name": name, "arguments": arguments})
    by_client = items_of(
        [{"role": "user", "content": "Hi"}, *output, *results(len(calls))], "input", no_reference, NONE
    )
    by_id = [
        *items_of("Hi", "input", no_reference, NONE),
        *answer_items(PREFIX, whole(text, calls), has_calls=True),
        *items_of(results(len(calls)), "input", no_reference, NONE),
    ]
    assert texts_of(by_client) == texts_of(by_id)


def test_a_call_in_which_the_answer_ended_was_never_made() -> None:
    cut = "Wait." + written("weather", '{"city": "Paris"}') + written("weather", '{"city": "Rome"}')[:-20]
    items = answer_items(PREFIX, cut, has_calls=True)
    assert [item.call_id for item in items] == [None, f"{PREFIX}_0"]


def test_an_answer_without_tools_is_text_whatever_it_says() -> None:
    (item,) = answer_items(PREFIX, written("weather", "{}"), has_calls=False)
    assert not item.is_call


CALL = {"type": "function_call", "call_id": "a", "name": "b", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "a", "output": "c"}


@pytest.mark.parametrize("given", [[CALL], [RESULT], [RESULT, CALL], [CALL, CALL, RESULT]])
def test_a_call_and_its_result_need_each_other(given: list[dict[str, Any]]) -> None:
    with pytest.raises(ApiError):
        said_of(items_of(given, "input", no_reference, NONE))


def test_a_result_may_stand_behind_other_calls_and_texts() -> None:
    other = CALL | {"call_id": "d"}
    given = [CALL, other, {"role": "user", "content": "Hm"}, RESULT | {"call_id": "d"}, RESULT]
    assert len(said_of(items_of(given, "input", no_reference, NONE))) == 5
