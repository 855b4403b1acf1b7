"""An answer's text splits into its own text and its calls, however the text is cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol import tool_calls
from inference.protocol.tool_calls import BEGIN, END, Piece, Splitter, Tool, ToolCalls, written

NAMES = st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just("}</tool_call>") | st.just('{"'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
CALLS = st.tuples(NAMES, st.dictionaries(st.text(), VALUES, max_size=3).map(json.dumps))
TEXTS = st.text(max_size=30).filter(lambda text: "<" not in text) | st.sampled_from(["a < b", "<tool", BEGIN + " no"])


SPLITS = json.loads((Path(__file__).parents[2] / "golden" / "calls.json").read_text("utf-8"))
"""The page's tests read them too."""


@pytest.mark.parametrize("each", SPLITS, ids=lambda each: each["text"][:40])
def test_an_answer_is_split_as_by_the_page(each: dict[str, Any]) -> None:
    spoken, calls = tool_calls.split(each["text"])
    assert spoken == each["spoken"]
    assert [written(call.name, call.arguments) for call in calls] == [BEGIN + text + END for text in each["calls"]]


def split(text: str, cuts: list[int]) -> list[Piece]:
    """The pieces, those of one stretch joined."""
    splitter, found, start = Splitter(), list[Piece](), 0
    for end in [*sorted(cut % (len(text) + 1) for cut in cuts), len(text)]:
        found += splitter.feed(text[start:end])
        start = end
    joined: list[Piece] = []
    for piece in [*found, *splitter.end()]:
        if joined and joined[-1].kind == piece.kind != "name":
            joined[-1] = Piece(piece.kind, joined[-1].text + piece.text)
        else:
            joined.append(piece)
    return joined


@given(text=TEXTS, calls=st.lists(CALLS, max_size=3), cuts=st.lists(st.integers(0, 10_000), max_size=12))
def test_what_was_written_is_read_again(text: str, calls: list[tuple[str, str]], cuts: list[int]) -> None:
    whole = text + "".join(written(name, arguments) for name, arguments in calls)
    wanted = [Piece("text", text)] if text else []
    for name, arguments in calls:
        wanted += [Piece("name", name), Piece("arguments", arguments)]
    assert split(whole, cuts) == wanted


@given(text=st.text(), cuts=st.lists(st.integers(0, 10_000), max_size=12))
def test_no_text_is_lost_where_there_is_no_call(text: str, cuts: list[int]) -> None:
    assert "".join(piece.text for piece in split(text.replace("{", ""), cuts)) == text.replace("{", "")


def test_text_is_held_back_only_while_it_may_begin_a_call() -> None:
    splitter = Splitter()
    assert splitter.feed("a <tool") == [Piece("text", "a ")]
    assert splitter.feed("box>") == [Piece("text", "<toolbox>")]


def test_a_cut_call_gives_the_arguments_so_far() -> None:
    splitter = Splitter()
    assert splitter.feed(written("f", '{"a": 1}')[:-14]) == [Piece("name", "f"), Piece("arguments", '{"a": 1')]
    assert splitter.is_within_call and splitter.end() == []


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        ((), "1 to 128 tools"),
        ((Tool(name=""),), "letters, digits"),
        ((Tool(name='a"b'),), "letters, digits"),
        ((Tool(name="a"), Tool(name="a")), "two tools"),
        ((Tool(name="a", description="x" * 300_000),), "characters in all"),
    ],
)
def test_tools_that_cannot_be_called_are_named(tools: tuple[Tool, ...], told: str) -> None:
    assert told in (ToolCalls(tools=tools).problem() or "")
