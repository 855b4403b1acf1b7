"""A search finds a request by its new message's own text, and a refusal counts that text."""

from __future__ import annotations

import pytest

from inference.protocol.events import Image, SegmentKind
from webapp.ground.context.source import SourceMessage
from webapp.ground.context.turns import new_text

PICTURE = Image(sha256="0" * 64, media_type="image/png", num_bytes=67, width=1, height=1)


def part(content: str, kind: SegmentKind = "user", role: str = "user", **more: object) -> SourceMessage:
    return SourceMessage(role, content, "message:msg_a", kind, **more)  # type: ignore[arg-type]


BEFORE = [part("Be brief.", "system", "system"), part("Hello.", "history"), part("Hi.", "history", "assistant")]


@pytest.mark.parametrize(
    ("new", "text"),
    [
        ([part("What is this?")], "What is this?"),
        ([part("What is this?"), part("", is_continued=True, image=PICTURE)], "What is this?"),
        ([part("", image=PICTURE), part("What is this?", is_continued=True)], "What is this?"),
        ([part("A file.", "attachment"), part("What is this?", is_continued=True)], "What is this?"),
        ([part("What is this?"), part("It is", "user", "assistant")], "What is this?It is"),
    ],
)
def test_it_is_the_text_without_pictures_and_files(new: list[SourceMessage], text: str) -> None:
    assert new_text([*BEFORE, *new]) == text


def test_no_message_has_no_text() -> None:
    assert new_text([]) == ""
