"""The prompt compared with the turn before: the common tokens, and the new, changed and removed segments."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    ContextCompared,
    Dropped,
    PromptTokenized,
    RequestAccepted,
    Segment,
    SegmentKind,
)
from inference.protocol.request import SamplingParams
from webapp.ground.context.compare import MAX_DIFFERING, compare, is_number


@dataclass
class Prompt:
    """Segments of one token per letter, each with its source."""

    parts: list[tuple[SegmentKind, str, str]]
    dropped: tuple[Dropped, ...] = ()
    text: str = field(init=False)

    def __post_init__(self) -> None:
        self.text = "".join(text for _, _, text in self.parts)

    def events(self) -> list[AnyEvent]:
        segments, start = [], 0
        for kind, source, text in self.parts:
            end = start + len(text)
            segments.append(Segment(kind=kind, role="", start=start, end=end, source=source, text=text))
            start = end
        ids = tuple(map(ord, self.text))
        pieces = tuple(letter.encode() for letter in self.text)
        return [
            RequestAccepted(
                at=0, request_id="r", surface="chat", model="m", params=SamplingParams(), accepted_unix_us=0
            ),
            ContextAssembled(
                at=1,
                window=99,
                reserved_output=9,
                num_prompt_tokens=start,
                segments=tuple(segments),
                dropped=self.dropped,
                duration_us=1,
            ),
            PromptTokenized(at=2, tokenizer="t", version="1", ids=ids, pieces=pieces, duration_us=1),
        ]


def compared(now: Prompt, before: Prompt, answer: str = "") -> ContextCompared:
    found = compare("req_before", now.events(), before.events(), [(ord(each), each.encode()) for each in answer])
    assert found is not None
    return found


FIRST = Prompt([("system", "conversation:system", "Be brief."), ("template", "template", "|"), ("user", "q1", "Why")])


def test_a_turn_that_goes_on_has_all_of_the_turn_before_its_answer_included() -> None:
    now = Prompt(
        [
            *FIRST.parts[:2],
            ("history", "q1", "Why"),
            ("history", "a1", "So"),
            ("template", "template", "|"),
            ("user", "q2", "?"),
        ]
    )
    found = compared(now, FIRST, "So")
    assert (found.num_common_tokens, found.num_prompt_tokens, found.num_answer_tokens) == (15, 13, 2)
    assert (found.here, found.there) == ((b"|", b"?"), ())
    assert (found.added, found.changed, found.removed) == ((3, 4, 5), (), ())


def test_another_system_prompt_is_a_change_at_its_first_different_token() -> None:
    now = Prompt([("system", "conversation:system", "Be bold."), *FIRST.parts[1:]])
    found = compared(now, FIRST)
    assert found.num_common_tokens == 4
    assert (found.here[:2], found.there[:2]) == ((b"o", b"l"), (b"r", b"i"))
    (change,) = found.changed
    assert (change.index, change.num_tokens, change.text) == (0, 9, "Be brief.")
    assert (found.added, found.removed) == ((), ())


def test_ids_of_another_tokenizer_are_not_compared() -> None:
    *head, prompt = FIRST.events()
    other = [*head, msgspec.structs.replace(prompt, version="2")]
    assert compare("req_before", FIRST.events(), other, []) is None
    assert compare("req_before", FIRST.events(), FIRST.events(), []) is not None


def test_what_made_room_is_gone_for_the_reason_that_assembly_gave() -> None:
    dropped = Dropped(kind="history", source="q1", num_tokens=3, reason="the window is full")
    now = Prompt([*FIRST.parts[:2], ("user", "q2", "How")], (dropped,))
    (removed,) = compared(now, FIRST).removed
    assert (removed.source, removed.num_tokens, removed.reason, removed.text) == ("q1", 3, "the window is full", "Why")
    (edited,) = compared(Prompt(now.parts), FIRST).removed
    assert edited.reason == "this branch of the conversation does not contain it"


def test_there_is_nothing_to_compare_without_a_prompt() -> None:
    assert compare("r", FIRST.events()[:1], FIRST.events(), []) is None
    assert compare("r", FIRST.events(), FIRST.events()[:2], []) is None


TEXTS = st.text("ab", max_size=12)


@given(common=TEXTS, rest=TEXTS, other=TEXTS, answer=TEXTS)
def test_the_common_beginning_is_the_longest_there_is(common: str, rest: str, other: str, answer: str) -> None:
    now, before = Prompt([("user", "q", common + rest)]), Prompt([("user", "q", common + other)])
    found = compared(now, before, answer)
    num, whole = found.num_common_tokens, before.text + answer
    assert num >= len(common) and now.text[:num] == whole[:num]
    assert now.text[num : num + 1] != whole[num : num + 1] or num == min(len(now.text), len(whole))
    assert b"".join(found.here).decode() == now.text[num : num + MAX_DIFFERING]
    assert b"".join(found.there).decode() == whole[num : num + MAX_DIFFERING]


@given(here=st.lists(st.binary(max_size=3), max_size=2), there=st.lists(st.binary(max_size=3), max_size=2))
def test_a_number_is_known_by_its_first_digit_on_both_sides(here: list[bytes], there: list[bytes]) -> None:
    spelled = [b"".join(side[:1]).decode("latin-1").lstrip(" \t\n\r\x0b\x0c")[:1] for side in (here, there)]
    assert is_number(here, there) == all(letter and letter in "0123456789" for letter in spelled)


def test_many_parts_are_compared_without_their_order() -> None:
    """A matcher takes cubic time for hundreds of the template's parts, which are alike."""

    def turn(number: int) -> list[tuple[SegmentKind, str, str]]:
        return [("template", "template", "|"), ("history", f"q{number}", f"{number},")]

    parts = [part for number in range(150) for part in turn(number)]
    before = Prompt([("system", "system", "Old"), *parts])
    now = Prompt([("system", "system", "New"), *reversed(parts[2:]), ("user", "q150", "?")])
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr("webapp.ground.context.compare.SequenceMatcher")
        found = compared(now, before)
    assert found.added == (len(now.parts) - 1,)
    assert [(change.index, change.text) for change in found.changed] == [(0, "Old")]
    assert [dropped.source for dropped in found.removed] == ["q0"]
