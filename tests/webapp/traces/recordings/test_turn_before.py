"""A turn is compared with the one that it goes on from, not with the call before it in time."""

from __future__ import annotations

import pytest

from webapp.ground.context.assemble import SourceMessage
from webapp.traces.recordings.turn_before import goes_on_from


def said(*texts: str, system: str = "Be brief.") -> tuple[SourceMessage, ...]:
    roles = ("user", "assistant")
    messages = [SourceMessage(roles[at % 2], text, f"api:messages[{at}]", "history") for at, text in enumerate(texts)]
    return (SourceMessage("system", system, "api:system", "system"), *messages)


RIVER, LAKE = said("Name a river."), said("Name a lake.")


def test_it_is_the_turn_of_the_same_conversation() -> None:
    now = said("Name a river.", "The Rhine.", "And another one?")
    assert goes_on_from(now, [("lake", LAKE), ("river", RIVER)]) == "river"


def test_the_longest_beginning_counts() -> None:
    now = said("Name a river.", "The Rhine.", "Another?", "The Po.", "And another?")
    longer = said("Name a river.", "The Rhine.", "Another?")
    assert goes_on_from(now, [("first", RIVER), ("second", longer), ("again", RIVER)]) == "second"


def test_a_changed_system_message_is_still_the_same_conversation() -> None:
    now = said("Name a river.", "The Rhine.", "Another?", system="It is noon.")
    assert goes_on_from(now, [("river", RIVER)]) == "river"


def test_the_newest_of_equals_counts() -> None:
    assert goes_on_from(RIVER, [("newer", RIVER), ("older", RIVER)]) == "newer"


def test_one_that_is_its_beginning_comes_before_one_that_went_another_way() -> None:
    other = said("Name a river.", "The Rhine.", "Another?")
    assert goes_on_from(RIVER, [("newer", other), ("older", RIVER)]) == "older"


@pytest.mark.parametrize("earlier", [[], [("lake", LAKE)], [("embedding", ())]])
def test_a_turn_that_begins_like_none_has_no_turn_before(earlier: list[tuple[str, tuple[SourceMessage, ...]]]) -> None:
    assert goes_on_from(RIVER, earlier) is None
