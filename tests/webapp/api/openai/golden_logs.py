"""Recorded logs, and logs of any answer made from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import msgspec
from hypothesis import strategies as st

from inference.protocol.codec import decode_frame
from inference.protocol.events import AnyEvent, RequestFinished, TextReleased, TokenSampled
from inference.protocol.request import FinishReason
from inference.protocol.tool_calls import written

GOLDEN = Path(__file__).parents[3] / "golden"
_TWICE = {"second_taken_over", "two_generations"}
"""Logs with a second generation, which no call of an API has."""
NAMES = sorted({path.stem for folder in ("logs", "calls") for path in (GOLDEN / folder).glob("*.json")} - _TWICE)


@cache
def events_of(name: str) -> tuple[AnyEvent, ...]:
    """The events of a recorded log."""
    calls = GOLDEN / "calls" / f"{name}.json"
    if calls.exists():
        frames = json.loads(calls.read_text("utf-8"))
    else:
        frames = json.loads((GOLDEN / "logs" / f"{name}.json").read_text("utf-8"))["frames"]
    return tuple(event for frame in frames for event in decode_frame(json.dumps(frame)).events)


def spoken(pieces: Sequence[str], reason: FinishReason = "stop") -> list[AnyEvent]:
    """The log of an answer that may call tools, released in these pieces."""
    recorded = events_of("one_call")
    place = next(index for index, event in enumerate(recorded) if isinstance(event, TextReleased))
    released = recorded[place]
    assert isinstance(released, TextReleased)
    own = [msgspec.structs.replace(released, text=piece, num_tokens=index + 1) for index, piece in enumerate(pieces)]
    rest = [event for event in recorded[place:] if not isinstance(event, TextReleased | TokenSampled)]
    ended = [
        msgspec.structs.replace(event, finish_reason=reason) if isinstance(event, RequestFinished) else event
        for event in rest
    ]
    return [*(event for event in recorded[:place] if not isinstance(event, TokenSampled)), *own, *ended]


NAME = st.sampled_from(["weather", "clock"])
ARGUMENTS = st.dictionaries(
    st.text(max_size=4), st.one_of(st.text(max_size=8), st.integers(), st.lists(st.text(max_size=3))), max_size=3
).map(json.dumps)
CALLS = st.lists(st.tuples(NAME, ARGUMENTS), max_size=3)
TEXT = st.text(st.characters(exclude_characters="<\0", exclude_categories=["Cs"]), max_size=30)


@st.composite
def answers(draw: st.DrawFn) -> tuple[str, list[tuple[str, str]]]:
    """A text and the calls after it."""
    return draw(TEXT), draw(CALLS)


def whole(text: str, calls: Sequence[tuple[str, str]]) -> str:
    """The answer as the model writes it."""
    return text + "".join(written(*call) for call in calls)


@st.composite
def cut(draw: st.DrawFn, text: str) -> list[str]:
    """The text in pieces that are not empty."""
    places = draw(st.lists(st.integers(0, len(text)), max_size=12))
    ends = sorted({*places, 0, len(text)})
    return [text[start:end] for start, end in pairwise(ends)]


PLACES = st.lists(st.integers(0, 100), max_size=8)
"""Where a log is cut into frames, in hundredths of it."""


def framed(events: Sequence[AnyEvent], places: Sequence[int]) -> list[list[AnyEvent]]:
    """The events in frames."""
    ends = sorted({0, len(events), *(len(events) * place // 100 for place in places)})
    return [list(events[start:end]) for start, end in pairwise(ends)]
