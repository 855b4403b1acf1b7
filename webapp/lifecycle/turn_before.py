"""Finds the previous request of a conversation or a recording, to compare prompts. Knows nothing of how they differ."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from django.db.models import Q
from msgspec.structs import replace

from inference.protocol.events import AnyEvent, ContextCompared, Frame, PromptTokenized, first
from webapp.context.compare import compare
from webapp.recordings.models import Turn
from webapp.requests.models import Request
from webapp.traces.file.archive import TraceFileError, decode_turn
from webapp.traces.models import Trace
from webapp.traces.previous_turn import without_texts

logger = logging.getLogger(__name__)


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
    """The trace of the newest request of its conversation, or recording, that had ended before this one was created."""
    is_one_of_many = Q(message__isnull=False) | Q(turn__isnull=False)
    request = Request.objects.filter(is_one_of_many, pk=request_id).defer("input").first()
    if request is None:
        return None
    of_recording = Q(request__turn__recording__turns=request_id)
    of_conversation = Q(request__message__conversation__messages__request=request)
    is_recorded = Turn.objects.filter(pk=request_id).exists()
    earlier = Trace.objects.filter(
        of_recording if is_recorded else of_conversation, request__finished_at__lt=request.created_at
    )
    return earlier.order_by("-request__accepted_unix_us").first()
