"""Runs the calls that an answer made of the server's tools, and asks the model again with their results.

A call is written to the log before it runs, and its result once it is checked. Each step is an attempt of its own, so a
process that comes late writes nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from concurrent.futures import as_completed

import msgspec

from inference.eventlog.clock import RequestClock
from inference.eventlog.entry import end_of
from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    PromptTokenized,
    TextReleased,
    TokenSampled,
    ToolCalled,
    ToolFinished,
    first,
)
from inference.protocol.generations import last_number, latest, numbered
from inference.protocol.request import SamplingParams
from inference.tokenization.template_process import TemplateError
from webapp.context.assemble import ContextTooLarge, Round, SourceMessage
from webapp.context.tools import result
from webapp.lifecycle.attempts import take_attempt
from webapp.lifecycle.dispatch import queue_generation
from webapp.lifecycle.packing import packing_events, served
from webapp.lifecycle.settle import settle
from webapp.requests import services
from webapp.requests.failure import CannotPrepare
from webapp.requests.models import Request
from webapp.requests.rounds import MAX_CALLS, Called, calls_of, unfinished
from webapp.tools import catalog

logger = logging.getLogger(__name__)

_TOO_MANY = catalog.Result(f"Not run: one answer may make {MAX_CALLS} calls.", is_error=True, duration_us=0)


def run_calls(request_id: str, attempt: int) -> None:
    """Run the calls of the last generation that have no result, and ask the model again.

    A second delivery does nothing.
    Raises Fenced, LogLost, RedisError, OperationalError, OSError.
    """
    request = Request.objects.filter(pk=request_id, attempt=attempt, finished_at=None).first()
    log = services.event_log()
    if request is None or not log.claim(request_id, attempt):
        return
    frames = log.read(request_id)
    events = [event for frame in frames for event in frame.events]
    at, number = RequestClock(request.accepted_unix_us).at, last_number(events)
    called = {event.call_id for event in events if isinstance(event, ToolCalled)}
    calls = unfinished(events)
    if new := [_called(each, at(), number) for each in calls if each.id not in called]:
        log.append(request_id, new, attempt, end_of(frames))
    running = {services.background_pool().submit(_run, index, each): each for index, each in enumerate(calls)}
    for future in as_completed(running):
        log.append(request_id, _finished(request, running[future], future.result(), number), attempt)
    if take_attempt(request):
        go_on(request)


def go_on(request: Request) -> None:
    """Queue the next generation, of the prompt, the answer and the results. The request has a new attempt.

    Raises Fenced, LogLost, RedisError, OperationalError, OSError.
    """
    log = services.event_log()
    log.fence(request.pk, request.attempt)
    frames = log.read(request.pk)
    events = [event for frame in frames for event in frame.events]
    try:
        new = _next_prompt(request, events)
    except CannotPrepare as error:
        settle(request.pk, error.failure)
        return
    queue_generation(request, [*events, *new], end_of(frames))


def _run(index: int, called: Called) -> catalog.Result:
    return catalog.run(called.call) if index < MAX_CALLS else _TOO_MANY


def _called(called: Called, at: int, number: int) -> ToolCalled:
    call = called.call
    return ToolCalled(
        at=at, generation=number, call_id=called.id, name=call.name, arguments=call.arguments, source="builtin"
    )


def _finished(request: Request, called: Called, found: catalog.Result, number: int) -> list[AnyEvent]:
    """The events of a result. A result that the safety policy blocks is replaced before any of it is written."""
    at = RequestClock(request.accepted_unix_us).at
    done_at = at()
    check = services.guard().check(found.text, "tool_result")
    text = check.replacement if check.verdict == "block" else found.text
    finished = ToolFinished(
        at=done_at,
        generation=number,
        call_id=called.id,
        result=text,
        is_error=found.is_error or check.verdict == "block",
        duration_us=found.duration_us,
    )
    return [finished, numbered(check.event(at(), "tool_result", 0, len(found.text)), number)]


def _next_prompt(request: Request, events: Sequence[AnyEvent]) -> list[AnyEvent]:
    """The events of the next generation's prompt. Raises CannotPrepare."""
    clock, number = RequestClock(request.accepted_unix_us), last_number(events)
    params, model = msgspec.convert(request.params, SamplingParams), served(request.model)
    start_ns = time.perf_counter_ns()
    try:
        assembled = model.assembler.go_on(_round(events, number), _results(events), params.max_tokens)
    except ContextTooLarge as error:
        raise CannotPrepare("context", "prompt_too_long", str(error)) from None
    except TemplateError as error:
        raise CannotPrepare("context", "model_unavailable", f"The chat template takes no result: {error}") from None
    duration_us = (time.perf_counter_ns() - start_ns) // 1000
    return [numbered(event, number + 1) for event in packing_events(model, assembled, clock.at(), duration_us)]


def _round(events: Sequence[AnyEvent], number: int) -> Round:
    own = latest(events)
    context, prompt = first(own, ContextAssembled), first(own, PromptTokenized)
    assert context is not None and prompt is not None
    tokens = [event for event in own if isinstance(event, TokenSampled)]
    if tokens and tokens[-1].is_special:
        tokens.pop()
    text = "".join(event.text for event in own if isinstance(event, TextReleased))
    answer = SourceMessage("assistant", text, f"generation:{number}", kind="history")
    return Round(context, prompt, answer, tuple(token.id for token in tokens))


def _results(events: Sequence[AnyEvent]) -> list[SourceMessage]:
    """The results in the order of their calls, as parts of one message."""
    told = {event.call_id: event.result for event in events if isinstance(event, ToolFinished)}
    return [
        SourceMessage("user", ("\n" if at else "") + result(told[each.id]), f"tool:{each.id}", at > 0, "result")
        for at, each in enumerate(calls_of(events))
    ]
