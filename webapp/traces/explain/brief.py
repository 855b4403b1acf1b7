"""A trace in brief: prompt, answer, calls, checks, times and bill. Pure: events in, values out.

Each figure is recorded in the trace or follows from it. An unknown figure is None.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from inference.protocol.events import (
    AgentStarted,
    AnyEvent,
    CacheLookedUp,
    ContextAssembled,
    Frame,
    GatewayChecked,
    GenerationInterrupted,
    GenerationQueued,
    GenerationStarted,
    RequestAccepted,
    RequestCancelled,
    SafetyChecked,
    TextWithheld,
    ToolCalled,
    ToolFinished,
    first,
)
from inference.protocol.generations import by_number
from inference.protocol.request import FinishReason, SamplingParams, Usage
from webapp.requests.generations import Generation
from webapp.requests.outcome import VERDICTS, fold

MAX_TEXT_CHARS = 4000
"""Characters of one text; the rest is left out, and said to be."""


class Part(msgspec.Struct, frozen=True):
    """A stretch of the prompt with one origin."""

    kind: str
    role: str
    source: str
    num_tokens: int
    num_cached_tokens: int | None
    """Those that the prefix cache had. None: the look-up is not recorded."""
    text: str


class Called(msgspec.Struct, frozen=True):
    """One call of a tool."""

    name: str
    arguments: str
    result: str | None
    """None: the call has no result."""
    is_error: bool
    duration_us: int | None
    agent: str | None
    """The request that the call started, whose trace tells of its work. None: a tool answered."""


class Round(msgspec.Struct, frozen=True):
    """One generation: what the model read and wrote."""

    number: int
    prompt: list[Part]
    num_dropped_tokens: int
    """Tokens of older turns that did not fit."""
    text: str
    num_withheld_tokens: int
    finish_reason: FinishReason | None
    usage: Usage | None
    worker: str | None
    num_attempts: int
    num_interruptions: int
    queued_us: int | None
    """Time from the queue to the worker's engine."""
    calls: list[Called]


class Check(msgspec.Struct, frozen=True):
    """The worst safety check of one layer."""

    layer: str
    verdict: str
    category: str
    score: float | None
    threshold: float | None
    num_checks: int


class Told(msgspec.Struct, frozen=True):
    """A whole request."""

    request_id: str
    surface: str
    model: str
    params: SamplingParams
    features: tuple[str, ...]
    gateway_us: int | None
    rounds: list[Round]
    checks: list[Check]
    stopped_by: str | None
    failure: str | None
    first_text_us: int | None
    first_token_us: int | None
    duration_us: int
    between_tokens_us: dict[str, int] | None
    usage: Usage
    cost_nano: int | None
    currency: str


class NotTold(Exception):
    """The log lacks its beginning."""


def tell(frames: Sequence[Frame]) -> Told:
    """Return the request of these frames in brief. Raises NotTold."""
    events = [event for frame in frames for event in frame.events]
    accepted = first(events, RequestAccepted)
    if accepted is None:
        raise NotTold
    outcome, gateway = fold(frames), first(events, GatewayChecked)
    cancelled = first(events, RequestCancelled)
    found = by_number(events)
    return Told(
        request_id=accepted.request_id,
        surface=accepted.surface,
        model=accepted.model,
        params=accepted.params,
        features=accepted.features,
        gateway_us=gateway.duration_us if gateway else None,
        rounds=[
            _round(number, found[number], each)
            for number, each in zip(sorted(found), outcome.generations, strict=False)
        ],
        checks=_checks(events),
        stopped_by=cancelled.by if cancelled else None,
        failure=f"{outcome.failure.code}: {outcome.failure.message}" if outcome.failure else None,
        first_text_us=outcome.first_text_us,
        first_token_us=outcome.first_token_us,
        duration_us=outcome.duration_us,
        between_tokens_us=outcome.between_tokens_us,
        usage=outcome.usage,
        cost_nano=outcome.bill.total_nano if outcome.bill else None,
        currency=outcome.bill.currency if outcome.bill else "",
    )


def clipped(text: str) -> str:
    """The text, or its beginning and the number of characters left out."""
    if len(text) <= MAX_TEXT_CHARS:
        return text
    return f"{text[:MAX_TEXT_CHARS]}… ({len(text) - MAX_TEXT_CHARS:,} more characters)"


def _round(number: int, events: Sequence[AnyEvent], generation: Generation) -> Round:
    context, looked_up = generation.context, first(events, CacheLookedUp)
    queued, started = first(events, GenerationQueued), first(events, GenerationStarted)
    withheld = [event.num_tokens for event in events if isinstance(event, TextWithheld)]
    return Round(
        number=number,
        prompt=_parts(context, looked_up),
        num_dropped_tokens=sum(each.num_tokens for each in context.dropped) if context else 0,
        text=clipped(generation.text),
        num_withheld_tokens=sum(withheld),
        finish_reason=generation.finish_reason,
        usage=generation.finished.usage if generation.finished else None,
        worker=started.worker if started else None,
        num_attempts=len(generation.attempts),
        num_interruptions=sum(isinstance(event, GenerationInterrupted) for event in events),
        queued_us=max(0, started.at - queued.at) if started and queued else None,
        calls=_calls(events),
    )


def _parts(context: ContextAssembled | None, looked_up: CacheLookedUp | None) -> list[Part]:
    """The prompt's parts; the template's own tokens are among them."""
    cached = None if looked_up is None else looked_up.num_cached_tokens
    return [
        Part(
            kind=each.kind,
            role=each.role,
            source=each.source,
            num_tokens=each.end - each.start,
            num_cached_tokens=None if cached is None else min(max(cached - each.start, 0), each.end - each.start),
            text=clipped(each.text),
        )
        for each in (context.segments if context else ())
    ]


def _calls(events: Sequence[AnyEvent]) -> list[Called]:
    finished = {event.call_id: event for event in events if isinstance(event, ToolFinished)}
    agents = {event.call_id: event.request_id for event in events if isinstance(event, AgentStarted)}
    called = (event for event in events if isinstance(event, ToolCalled))
    return [_called(call, finished.get(call.call_id), agents.get(call.call_id)) for call in called]


def _called(call: ToolCalled, end: ToolFinished | None, agent: str | None) -> Called:
    return Called(
        name=call.name,
        arguments=clipped(call.arguments),
        result=clipped(end.result) if end else None,
        is_error=end.is_error if end else False,
        duration_us=end.duration_us if end else None,
        agent=agent,
    )


def _checks(events: Sequence[AnyEvent]) -> list[Check]:
    layers: dict[str, list[SafetyChecked]] = {}
    for event in events:
        if isinstance(event, SafetyChecked):
            layers.setdefault(event.layer, []).append(event)
    return [_check(layer, found) for layer, found in layers.items()]


def _check(layer: str, found: Sequence[SafetyChecked]) -> Check:
    worst = max(found, key=lambda each: VERDICTS.index(each.verdict))
    decisive = max(
        (score for score in worst.scores if score.verdict == worst.verdict), key=lambda each: each.score, default=None
    )
    is_noted = worst.verdict != "allow" and decisive is not None
    return Check(
        layer=layer,
        verdict=worst.verdict,
        category=decisive.category if decisive and is_noted else "",
        score=decisive.score if decisive and is_noted else None,
        threshold=decisive.threshold if decisive and is_noted else None,
        num_checks=len(found),
    )
