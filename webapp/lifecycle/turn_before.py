"""Finds the request before another in its conversation, to compare their prompts. Knows nothing of how they differ."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from inference.protocol.events import ContextCompared, Frame, PromptTokenized
from webapp.context.compare import compare
from webapp.lifecycle.models import Request
from webapp.traces.archive import TraceFileError, decode_turn
from webapp.traces.models import Trace

logger = logging.getLogger(__name__)


def compare_with_turn_before(request_id: str, frames: Sequence[Frame]) -> ContextCompared | None:
    """None: there is none whose trace can be read, this request has no prompt, or its log has the comparison."""
    events = [event for frame in frames for event in frame.events]
    if not any(isinstance(event, PromptTokenized) for event in events):
        return None
    if any(isinstance(event, ContextCompared) for event in events):
        return None
    if (trace := _trace_before(request_id)) is None:
        return None
    try:
        turn = decode_turn(bytes(trace.blob))
    except TraceFileError as error:
        logger.warning("the trace of %s cannot be compared with: %s", trace.pk, error)
        return None
    return compare(str(trace.pk), events, turn.events, turn.answer)


def _trace_before(request_id: str) -> Trace | None:
    """Of the newest request of the same conversation that had ended before this one was accepted."""
    request = Request.objects.filter(pk=request_id, message__isnull=False).first()
    if request is None:
        return None
    earlier = Trace.objects.filter(
        request__message__conversation__messages__request=request,
        request__finished_at__lt=request.created_at,
    )
    return earlier.order_by("-request__accepted_unix_us").first()
