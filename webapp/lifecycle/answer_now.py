"""Ends the thinking of a request's model for its user. Knows nothing of HTTP and of permissions.

The log keeps the wish, so that a worker that takes over ends the thinking too. The command tells the worker that runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from inference.eventlog.clock import RequestClock
from inference.eventlog.entry import end_of
from inference.eventlog.event_log import Fenced, LogLost
from inference.protocol.events import (
    AnswerAsked,
    AnyEvent,
    GenerationFinished,
    PromptTokenized,
    RequestCancelled,
    TextReleased,
    ThinkingEnded,
    TokenSampled,
    first,
)
from inference.protocol.generations import last_number, latest
from inference.protocol.request import StepCommand
from webapp.requests import services
from webapp.requests.models import Request

_OVER = (ThinkingEnded, TextReleased, GenerationFinished, RequestCancelled)


def answer_now(request: Request) -> bool:
    """Let the model answer within a few engine steps. Return False where it does not think. Raises RedisError."""
    log = services.event_log()
    frames = log.read(request.pk)
    events = [event for frame in frames for event in frame.events]
    if request.is_settled or not is_thinking(events) or not services.can_end_thinking(request.model):
        return False
    own, number = latest(events), last_number(events)
    if first(own, AnswerAsked) is None:
        asked = AnswerAsked(at=RequestClock(request.accepted_unix_us).at(), generation=number)
        try:
            log.append(request.pk, [asked], request.attempt, end_of(frames))
        except (Fenced, LogLost):  # another attempt has begun, or the request ends just now
            return False
    position = sum(isinstance(event, TokenSampled) for event in own)
    log.command(request.pk, StepCommand(generation=number, position=position, ends_thinking=True))
    return True


def is_thinking(events: Sequence[AnyEvent]) -> bool:
    """Return whether the last generation may still think. A thinking that has not begun may be ended too."""
    own = latest(events)
    prompt = first(own, PromptTokenized)
    return prompt is not None and prompt.thinking is not None and not any(isinstance(event, _OVER) for event in own)
