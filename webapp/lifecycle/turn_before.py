"""Finds the previous request of a conversation or a recording, to compare prompts. Knows nothing of how they differ."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from inference.protocol.events import AnyEvent, ContextCompared, Frame, PromptTokenized, first
from webapp.ground.context.compare import compare
from webapp.requests.models import Request
from webapp.traces.file.archive import TraceFileError, decode_turn
from webapp.traces.models import Trace
from webapp.traces.previous_turn import without_texts
from webapp.traces.recordings.models import Turn
from webapp.traces.recordings.turn_before import goes_on_from

logger = logging.getLogger(__name__)

_MOST_LOOKED_AT = 50
"""Turns of a recording, the newest first. A program rarely works on more conversations at once."""


class TurnBeforeGone(Exception):
    """The previous request has no trace any more."""


def compare_with_turn_before(request_id: str, frames: Sequence[Frame]) -> ContextCompared | None:
    """Compare the request's prompt with the turn before, without that turn's texts.

    None: no earlier trace can be read, this request has no prompt, or its log has the comparison.
    """
    events = _events(frames)
    if not any(isinstance(event, PromptTokenized) for event in events) or first(events, ContextCompared) is not None:
        return None
    if (trace := _trace_before(request_id)) is None:
        return None
    try:
        found = _compare(events, trace)
    except TraceFileError as error:
        logger.warning("the trace of %s cannot be compared with: %s", trace.pk, error)
        return None
    return None if found is None else without_texts(found)


def with_texts(user_id: int, frames: Sequence[Frame], known: ContextCompared) -> ContextCompared:
    """Repeat a user's recorded comparison with the texts of the turn before.

    Raises TurnBeforeGone; TraceFileError when that turn's trace is damaged.
    """
    trace = Trace.objects.filter(pk=known.request_id, request__user_id=user_id).first()
    found = None if trace is None else _compare(_events(frames), trace)
    if found is None:
        raise TurnBeforeGone
    return replace(found, at=known.at)


def _compare(events: Sequence[AnyEvent], trace: Trace) -> ContextCompared | None:
    """Compare the events with the trace. Raises TraceFileError."""
    turn = decode_turn(bytes(trace.blob))
    return compare(str(trace.pk), events, turn.events, turn.answer)


def _events(frames: Iterable[Frame]) -> list[AnyEvent]:
    return [event for frame in frames for event in frame.events]


def _trace_before(request_id: str) -> Trace | None:
    """The trace of the request before, which had ended when this one was created; None: it is the first, or of no chat.

    Of a conversation it is the newest one. Of a recording it is the one that this one goes on from.
    """
    is_recorded = Turn.objects.filter(pk=request_id).exists()
    if is_recorded:
        return _trace_of(_recorded_before(Request.objects.get(pk=request_id)))
    request = Request.objects.filter(message__isnull=False, pk=request_id).defer("input").first()
    if request is None:
        return None
    of_conversation = Trace.objects.filter(request__message__conversation__messages__request=request)
    earlier = of_conversation.filter(request__finished_at__lt=request.created_at)
    return earlier.order_by("-request__accepted_unix_us").first()


def _recorded_before(request: Request) -> str | None:
    earlier = Request.objects.filter(
        turn__recording__turns=request.pk, finished_at__lt=request.created_at, trace__isnull=False
    )
    newest = earlier.order_by("-accepted_unix_us").only("input")[:_MOST_LOOKED_AT]
    return goes_on_from(request.input.messages, ((each.pk, each.input.messages) for each in newest))


def _trace_of(request_id: str | None) -> Trace | None:
    return None if request_id is None else Trace.objects.filter(pk=request_id).first()
