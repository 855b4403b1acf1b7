"""A brought text is recognised by its shape, and its faults are told with their place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webapp.surfaces.bring.streams import CHAT, MESSAGE, RESPONSE, RESPONSES, sse
from webapp.surfaces.bring.json_text import Malformed
from webapp.surfaces.bring.kinds import Body, StreamedAnswer, Unknown, WholeAnswer, recognised

USER = {"role": "user", "content": "Hi"}
BLOCK = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("body", "kind", "is_certain"),
    [
        ({"messages": [USER]}, "chat", False),
        ({"messages": [USER], "max_tokens": 5}, "chat", False),
        ({"messages": [{"role": "system", "content": "Be brief."}, USER]}, "chat", True),
        ({"messages": [USER], "tools": [{"type": "function", "function": {"name": "f"}}]}, "chat", True),
        ({"messages": [USER], "stream_options": {}}, "chat", True),
        ({"messages": [USER], "tool_choice": "auto"}, "chat", True),
        ({"messages": [USER], "system": "Be brief."}, "messages", True),
        ({"messages": [{"role": "user", "content": [BLOCK]}]}, "messages", True),
        ({"messages": [USER], "tools": [{"name": "f", "input_schema": {}}]}, "messages", True),
        ({"messages": [USER], "thinking": {"type": "disabled"}}, "messages", True),
        ({"messages": [USER], "system": "a", "seed": 1}, "chat", False),
        ({"messages": 5}, "chat", False),
        ({"prompt": "Once"}, "completions", True),
        ({"input": "Hi"}, "responses", True),
        ({"previous_response_id": "resp_1"}, "responses", True),
    ],
)
def test_a_body_is_recognised_by_its_fields(body: dict[str, Any], kind: str, is_certain: bool) -> None:
    assert recognised(json.dumps(body)) == Body(kind, is_certain)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (sse(CHAT, done=True), "chat"),
        (sse(MESSAGE), "messages"),
        (sse(RESPONSES), "responses"),
        (": keep-alive\r\n\r\n" + sse(MESSAGE).replace("\n", "\r\n"), "messages"),
        ('\ufeff data: {"object": "text_completion", "choices": []}\n\n', "completions"),
    ],
)
def test_a_stream_is_recognised_by_its_events(text: str, kind: str) -> None:
    found = recognised(text)
    assert isinstance(found, StreamedAnswer) and found.kind == kind


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"object": "chat.completion", "choices": []}, "chat"),
        (RESPONSE, "responses"),
        ({"type": "message", "role": "assistant", "content": []}, "messages"),
    ],
)
def test_an_answer_is_recognised(value: dict[str, Any], kind: str) -> None:
    found = recognised(json.dumps(value))
    assert isinstance(found, WholeAnswer) and found.kind == kind


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (" \n", "no text yet"),
        ("[1]", "no object in braces"),
        ('{"model": "m"}', "none of messages, prompt and input"),
        ('data: {"a": 1}\n\n', "no event of an answer"),
    ],
)
def test_another_text_is_refused_in_words(text: str, told: str) -> None:
    with pytest.raises(Unknown, match=told):
        recognised(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{\n  "a": 1,\n  "b" 2}', "line 3, character 7: a colon must stand here"),
        ('{"a": [1, 2', "line 1, character 12: the text ends too early"),
        ("hello", "line 1, character 1: a value must stand here"),
        ('{"a": NaN}', "line 1, character 7: NaN is no number of JSON"),
        ('{"a": True}', "line 1, character 7: JSON has no True here; write true"),
        ("{'a': 1}", "line 1, character 2: JSON has no ' here; write double quotes"),
        ('{"a": -Infinity}', "line 1, character 7: -Infinity is no number of JSON"),
        ('{"a": 1,}', "line 1, character 9: a name in double quotes must stand here"),
        ('{"a": [1,\n]}', "line 2, character 1: a value must stand here"),
        ('{"a": [1 2]}', "line 1, character 10: a comma must stand here, or the end of the list"),
        ('{"a": [1}', "line 1, character 9: a comma must stand here, or the end of the list"),
        ('{"a": 01}', "line 1, character 8: a comma must stand here, or the end of the list"),
        ('{"a": {}} ]', "line 1, character 11: the JSON has ended before this"),
        ('{"a": "b', "line 1, character 7: the text in quotes that begins here has no end"),
        ('{"a": "b\\', "line 1, character 7: the text in quotes that begins here has no end"),
        ('{"a": "b\nc"}', "line 1, character 9: a line break or control character stands in a text"),
        (r'{"a": "b\x"}', "line 1, character 9: no escape of JSON begins with this backslash"),
        (r'{"a": "\n\u12"}', "line 1, character 10: four hexadecimal digits must follow \\u"),
        ('{"a"\t\n\n', "line 3, character 1: the text ends too early"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "a number has too many digits"),
        (
            'data: {"object": "x"}\n\ndata: {oops}\n\ndata: {}\n\n',
            "the data of event 2 is no JSON object: line 1, character 2: a name in double quotes",
        ),
    ],
)
def test_a_fault_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(Malformed) as raised:
        recognised(text)
    assert told in str(raised.value)


@given(st.text(max_size=60) | JSON.map(json.dumps) | JSON.map(lambda value: f"data: {json.dumps(value)}\n\n"))
def test_any_text_is_recognised_or_refused_in_words(text: str) -> None:
    try:
        recognised(text)
    except (Malformed, Unknown) as refused:
        assert str(refused)
