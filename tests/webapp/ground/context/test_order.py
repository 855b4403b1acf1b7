"""Every prompt is covered without gaps, its parts keep their order, and what is pinned is never left out."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inference.protocol.events import SegmentKind
from inference.tokenization.chat_template import ChatTemplate
from inference.tokenization.tokenizer import Tokenizer
from webapp.ground.context.assemble import Assembled, Assembler, ContextTooLarge, SourceMessage
from webapp.ground.context.source import ORDER, PINNED
from webapp.ground.context.turns import turns_of

SYSTEM: tuple[SegmentKind, ...] = ("system", "tools", "memory", "summary")
WORDS = st.integers(1, 60).map(lambda num: "word " * num)


@st.composite
def prompts(draw: st.DrawFn) -> list[SourceMessage]:
    """A chat's messages, with any of the parts that a chat may have."""
    found: list[SourceMessage] = []
    for kind in SYSTEM:
        if draw(st.booleans()):
            found.append(SourceMessage("system", draw(WORDS), kind, kind, is_continued=bool(found)))
    has_files = draw(st.booleans())
    if has_files:
        found.append(SourceMessage("user", draw(WORDS), "file", "attachment"))
    for turn in range(draw(st.integers(0, 5))):
        is_continued = has_files and turn == 0
        found.append(SourceMessage("user", draw(WORDS), f"q{turn}", "history", is_continued))
        found.append(SourceMessage("assistant", draw(WORDS), f"a{turn}", "history"))
        if draw(st.booleans()):
            found.append(SourceMessage("user", draw(WORDS), f"r{turn}", "result"))
            found.append(SourceMessage("assistant", draw(WORDS), f"b{turn}", "history"))
    is_first = found[-1:] == [each for each in found[-1:] if each.kind == "attachment"] and bool(found)
    return [*found, SourceMessage("user", draw(WORDS), "new", "user", is_continued=is_first)]


@pytest.fixture(scope="module")
def packed(template: ChatTemplate, tokenizer: Tokenizer) -> Assembler:
    return Assembler(template, tokenizer, 400)


def check(messages: list[SourceMessage], found: Assembled) -> None:
    ends = [0, *(each.end for each in found.segments)]
    assert [each.start for each in found.segments] == ends[:-1] and ends[-1] == len(found.prompt.ids)
    assert len(found.prompt.ids) + found.reserved_output <= found.window
    ranks = [ORDER.index("history" if each.kind == "result" else each.kind) for each in own(found)]
    assert ranks == sorted(ranks)
    kept, gone = {each.source for each in own(found)}, {each.source for each in found.dropped}
    assert kept | gone >= {each.source for each in messages} and not kept & gone
    assert {each.source for each in messages if each.kind in PINNED} | {"new"} <= kept
    turns = [{each.source for each in turn} for turn in turns_of(messages)]
    assert gone == set().union(*turns[: found.num_dropped_turns])


def own(found: Assembled) -> list[SourceMessage]:
    return [SourceMessage(each.role, each.text, each.source, each.kind) for each in found.segments if each.role]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=prompts())
def test_a_prompt_drops_only_its_oldest_turns(packed: Assembler, messages: list[SourceMessage]) -> None:
    try:
        found = packed.assemble(messages, 100)
    except ContextTooLarge:
        pinned = [each for each in messages if each.kind in PINNED or each.kind == "user"]
        with pytest.raises(ContextTooLarge):
            packed.assemble(pinned, 100)
        return
    check(messages, found)


def test_files_before_a_dropped_question_join_the_next_one(template: ChatTemplate, tokenizer: Tokenizer) -> None:
    messages = [
        SourceMessage("user", "A file.", "file", "attachment"),
        SourceMessage("user", "old " * 80, "q0", "history", is_continued=True),
        SourceMessage("assistant", "old " * 80, "a0", "history"),
        SourceMessage("user", "Next?", "new", "user"),
    ]
    found = Assembler(template, tokenizer, 150).assemble(messages, 20)
    assert [each.source for each in found.dropped] == ["q0", "a0"] and found.num_dropped_turns == 1
    assert "A file.\n\nNext?" in tokenizer.decode(found.prompt.ids)


def test_a_call_and_its_result_leave_together(template: ChatTemplate, tokenizer: Tokenizer) -> None:
    messages = [
        SourceMessage("user", "q " * 30, "q0", "history"),
        SourceMessage("assistant", "call " * 30, "a0", "history"),
        SourceMessage("user", "result " * 30, "r0", "result"),
        SourceMessage("assistant", "done " * 30, "b0", "history"),
        SourceMessage("user", "Next?", "new", "user"),
    ]
    found = Assembler(template, tokenizer, 150).assemble(messages, 20)
    assert [each.source for each in found.dropped] == ["q0", "a0", "r0", "b0"]


def test_a_prompt_that_keeps_all_says_what_to_do(template: ChatTemplate, tokenizer: Tokenizer) -> None:
    assembler = Assembler(template, tokenizer, 150)
    messages = [
        SourceMessage("user", "q " * 100, "q0", "history"),
        SourceMessage("assistant", "a " * 100, "a0", "history"),
        SourceMessage("user", "Next?", "new", "user"),
    ]
    with pytest.raises(ContextTooLarge, match=r"keeps all its turns\. Compact it"):
        assembler.assemble(messages, 20, "keep")
    assert assembler.assemble(messages[2:], 20, "keep").dropped == ()
    with pytest.raises(ContextTooLarge, match="Shorten the message"):
        assembler.assemble([SourceMessage("user", "q " * 300, "new", "user")], 20, "keep")
