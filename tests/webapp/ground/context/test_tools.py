"""The tokens of each tool's definition, wherever the tokenizer cuts the text."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.tool_calls import Tool
from webapp.ground.context.tools import Size, definitions, sizes

NAMES = st.lists(st.from_regex(r"[a-z_]{1,10}", fullmatch=True), min_size=1, max_size=5, unique=True)


def defined(name: str, description: str = "") -> Tool:
    return Tool(name=name, description=description, parameters='{"type": "object"}')


def test_a_token_counts_to_the_line_in_which_it_begins() -> None:
    first, second = (line for line in definitions([defined("a"), defined("b")]).split("\n") if line.startswith("{"))
    pieces = [b"<tools>\n{", first[1:].encode(), b"\n" + second[:3].encode(), second[3:].encode(), b"\n", b"</tools>"]
    assert sizes(pieces) == [Size("a", 2), Size("b", 2)]


@given(NAMES, st.text(max_size=30), st.lists(st.integers(0, 900)))
def test_each_tool_is_found_once_and_no_token_counts_twice(names: list[str], told: str, cuts: list[int]) -> None:
    text = definitions([defined(name, told) for name in names]).encode("utf-8", "replace")
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in pairwise(edges)]
    found = sizes(pieces)
    assert [each.name for each in found] == names
    assert sum(each.num_tokens for each in found) <= len(pieces)


def test_a_line_that_only_looks_like_a_definition_is_none() -> None:
    for line in (b'{"name": "a"', b'{"name": ["a"', b"[]", b'{"name": \xff}', b'{"name": ' + b"[" * 9000):
        assert sizes([line]) == []
