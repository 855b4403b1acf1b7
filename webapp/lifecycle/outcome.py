"""What a request's events add up to. Pure: events in, values out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from inference.protocol.events import (
    TERMINAL,
    AnyEvent,
    BillPosted,
    Frame,
    GenerationFinished,
    RequestCancelled,
    RequestFailed,
    TextReleased,
    TextWithheld,
)
from inference.protocol.request import FinishReason, Usage

Kind = TypeVar("Kind", bound=AnyEvent)


@dataclass(frozen=True)
class Outcome:
    """The answer and its figures, as far as the log has them."""

    text: str
    usage: Usage
    finish_reason: FinishReason | None
    first_token_us: int | None
    duration_us: int
    num_events: int
    bill: BillPosted | None
    failure: RequestFailed | None
    is_cancelled: bool
    is_terminal: bool


def fold(frames: Sequence[Frame]) -> Outcome:
    """Add up one request's frames, in order."""
    events = [event for frame in frames for event in frame.events]
    finished = _last(events, GenerationFinished)
    released = [event for event in events if isinstance(event, TextReleased | TextWithheld)]
    return Outcome(
        text="".join(e.text if isinstance(e, TextReleased) else _notice(e) for e in released),
        usage=finished.usage if finished else Usage(),
        finish_reason=finished.finish_reason if finished else None,
        first_token_us=next((event.at for event in events if isinstance(event, TextReleased)), None),
        duration_us=events[-1].at if events else 0,
        num_events=len(events),
        bill=_last(events, BillPosted),
        failure=_last(events, RequestFailed),
        is_cancelled=any(isinstance(event, RequestCancelled) for event in events),
        is_terminal=any(isinstance(event, TERMINAL) for event in events),
    )


def _notice(event: TextWithheld) -> str:
    return f"\n\n{event.replacement}"


def _last(events: Iterable[AnyEvent], kind: type[Kind]) -> Kind | None:
    found = None
    for event in events:
        if isinstance(event, kind):
            found = event
    return found
