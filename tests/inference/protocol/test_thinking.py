"""The split of an answer into thinking and answer."""

from __future__ import annotations

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.thinking import Part, ThinkingReader

BEGIN, END = "<think>", "</think>"
PIECES = st.sampled_from([BEGIN, END, "<", "</", "think", ">", "\n", " ", "a", "b.", "é", "</thi", "<thin"])


def read(pieces: list[str], is_open: bool = False) -> list[Part]:
    """The parts, with neighbours of one kind joined."""
    reader = ThinkingReader(BEGIN, END, is_open)
    parts = [part for piece in pieces for part in reader.feed(piece)] + reader.end()
    return [Part(kind, "".join(each.text for each in own)) for kind, own in groupby(parts, key=lambda each: each.kind)]


def said(text: str, is_open: bool = False) -> tuple[str, str]:
    """The thinking and the answer of a whole text."""
    parts = read([text], is_open)
    thought, answer = ("".join(part.text for part in parts if part.kind == kind) for kind in ("thought", "answer"))
    return thought, answer


@given(st.lists(PIECES, max_size=30), st.booleans(), st.data())
def test_any_cut_gives_the_same_parts(pieces: list[str], is_open: bool, data: st.DataObject) -> None:
    text = "".join(pieces)
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    cut = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    assert read(cut, is_open) == read([text], is_open) == read(list(text), is_open)


@given(st.lists(PIECES, max_size=30), st.booleans())
def test_the_parts_hold_the_whole_text(pieces: list[str], is_open: bool) -> None:
    assert "".join(part.text for part in read(pieces, is_open)) == "".join(pieces)


@given(st.lists(PIECES, max_size=30), st.booleans())
def test_thinking_comes_once_and_first(pieces: list[str], is_open: bool) -> None:
    kinds = [part.kind for part in read(pieces, is_open) if part.kind not in ("tag", "gap")]
    assert kinds in ([], ["thought"], ["answer"], ["thought", "answer"])


def test_tags_and_the_white_space_around_them_are_not_shown() -> None:
    assert said("\n<think>\nTwo and two.\n\nFour.\n</think>\n\nIt is 4.\n") == ("Two and two.\n\nFour.", "It is 4.\n")


def test_a_template_that_opens_the_thinking_leaves_the_answer_within_it() -> None:
    assert said("Hm.\n</think>\n\nYes.", is_open=True) == ("Hm.", "Yes.")


def test_a_model_may_repeat_the_tag_of_its_template() -> None:
    assert said("<think>\nHm.</think>Yes.", is_open=True) == ("Hm.", "Yes.")


def test_an_answer_without_tags_is_no_thinking() -> None:
    assert said("Yes.") == ("", "Yes.")


def test_tags_within_an_answer_are_its_text() -> None:
    assert said("A tag is <think> or </think>.") == ("", "A tag is <think> or </think>.")


def test_thinking_that_breaks_off_is_thinking() -> None:
    assert said("<think>Well, </thi") == ("Well, </thi", "")


def test_empty_thinking_is_none() -> None:
    assert said("<think>\n\n</think>\n\nYes.") == ("", "Yes.")


def test_the_reader_tells_where_it_is() -> None:
    reader = ThinkingReader(BEGIN, END)
    places = []
    for piece in ("<thi", "nk>", "a", "</think>", "b"):
        reader.feed(piece)
        places.append((reader.is_thinking, reader.is_answering))
    assert places == [(False, False), (True, False), (True, False), (False, True), (False, True)]
