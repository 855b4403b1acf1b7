"""Runs the calls that an answer made of the server's tools, and asks the model again with their results.

A call is written to the log before it runs, and its result once it is checked. Each step is an attempt of its own, so a
process that comes late writes nothing. A call that a lost process may have run is made again where that has no further
effect. Otherwise its result says that it is unknown whether it ran.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future
from dataclasses import dataclass

import msgspec
from django.db import connections
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from inference.eventlog.clock import RequestClock
from inference.eventlog.entry import end_of
from inference.eventlog.event_log import Fenced, LogLost
from inference.eventlog.leases import Holding
from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    GenerationForked,
    PromptTokenized,
    TokenSampled,
    ToolApproved,
    ToolCalled,
    ToolDeclined,
    ToolFinished,
    first,
)
from inference.protocol.generations import last_number, latest, numbered
from inference.protocol.request import SamplingParams
from inference.tokenization.template_process import TemplateError
from inference.tokenization.tokenizer import Tokenizer
from inference.tokenization.withheld_ids import known_ids
from webapp.ground.context.assemble import ContextTooLarge, Round, SourceMessage
from webapp.ground.context.tools import result
from webapp.lifecycle.agents import agent_started, refusal_of, start_agent, with_answers
from webapp.lifecycle.asking import questions, wait
from webapp.lifecycle.attempts import take_attempt
from webapp.lifecycle.dispatch import CALLS_S, queue_calls, queue_generation
from webapp.lifecycle.prompt_packing import may_think, packing_events, served
from webapp.lifecycle.settle import settle
from webapp.lifecycle.start import QueueUnavailable
from webapp.lifecycle.stop import stop
from webapp.lifecycle.tool_results import finished
from webapp.models.registry.offered import NotOffered
from webapp.requests import services
from webapp.requests.failure import CannotPrepare
from webapp.requests.models import Request
from webapp.requests.rounds import (
    MAX_CALLS,
    Called,
    after_generation,
    calls_of,
    due,
    is_declined,
    round_number,
    text_of,
)
from webapp.tools import catalog
from webapp.tools.tool import Asker, ToolError
from webapp.usage.limits.refusal import Refused

logger = logging.getLogger(__name__)

_TOO_MANY = catalog.Result(f"Not run: one answer may make {MAX_CALLS} calls.", is_error=True, duration_us=0)
_DECLINED = catalog.Result("Not run: the user declined this call.", is_error=True, duration_us=0)
_UNASKED = catalog.Result(
    "Not run: this tool now waits for its user's approval, and this answer began before.", is_error=True, duration_us=0
)
_CANNOT_ASK = catalog.Result(
    "Not run: this tool waits for its user's approval, and a set of several runs cannot ask.",
    is_error=True,
    duration_us=0,
)
_TIMED_OUT = catalog.Result("Not run: the user gave no answer in time.", is_error=True, duration_us=0)
_UNKNOWN = catalog.Result(
    "Unknown whether it ran: the process that called it ended. It is not called again.", is_error=True, duration_us=0
)
_RENEWAL_S = 5.0
"""Interval at which the lease is renewed while calls run."""


def run_calls(request_id: str, attempt: int) -> None:
    """Run the calls of the last generation that are due, ask the user about others, and carry the request on.

    A second delivery does nothing.
    Raises Fenced, LogLost, RedisError, OperationalError, OSError.
    """
    request = Request.objects.filter(pk=request_id, attempt=attempt, finished_at=None).first()
    log = services.event_log()
    if request is None or not log.claim(request_id, attempt):
        return
    frames = log.read(request_id)
    events = [event for frame in frames for event in frame.events]
    calls = [_Due.of(each, events) for each in due(events)]
    if new := [*questions(request, events), *_announced(request, events, calls)]:
        log.append(request_id, new, attempt, end_of(frames))
    asker, number = Asker(request.pk, request.user_id), last_number(events)
    tools = [each for each in calls if each.result or catalog.source_of(each.called.call.name) != "agent"]
    running = {services.background_pool().submit(_run, each, asker): each.called for each in tools}
    for each in calls:
        if each not in tools:
            services.leases().renew([Holding(request.pk, request.attempt)], CALLS_S)
            log.append(request_id, _delegated(request, each.called, number), attempt)
    for called, found in _as_they_end(request, running):
        log.append(request_id, finished(request, called, found, number), attempt)
    carry_on(request)


def carry_on(request: Request) -> None:
    """Take the step after calls, or after a decision: call, wait, or ask the model again.

    Raises Fenced, LogLost, RedisError, OperationalError, OSError.
    """
    events = with_answers(request)
    match after_generation(events):
        case "wait":
            wait(request, events)
        case "call" if take_attempt(request):
            queue_calls(request)
        case "go_on" if take_attempt(request):
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
        queue_generation(request, [*events, *_next_prompt(request, events)], end_of(frames))
    except CannotPrepare as error:
        settle(request.pk, error.failure)


@dataclass(frozen=True)
class _Due:
    """A call without a result, and the result that it has without being run."""

    called: Called
    result: catalog.Result | None
    is_approved: bool
    """By the user."""

    @classmethod
    def of(cls, called: Called, events: Sequence[AnyEvent]) -> _Due:
        approvals = (event for event in events if isinstance(event, ToolApproved))
        return cls(called, _without_run(called, events), any(event.call_id == called.id for event in approvals))


def _without_run(called: Called, events: Sequence[AnyEvent]) -> catalog.Result | None:
    """The result of a call that is not run; None: it is."""
    own = [event for event in events if getattr(event, "call_id", None) == called.id]
    tool = catalog.find(called.call.name)
    if declined := first(own, ToolDeclined):
        return _DECLINED if declined.by == "user" else _TIMED_OUT
    if is_declined(events, called):
        return _CANNOT_ASK
    if (tool is None or not tool.is_repeatable) and first(own, ToolCalled):
        return _UNKNOWN
    if called not in calls_of(events)[:MAX_CALLS]:
        return _TOO_MANY
    # The log says which calls must be approved. A tool that has become one of them is not run without either.
    return _UNASKED if tool is not None and tool.needs_approval and first(own, ToolApproved) is None else None


def _run(each: _Due, asker: Asker) -> catalog.Result:
    try:
        return each.result or catalog.run(each.called.call, asker, each.is_approved)
    finally:
        connections.close_all()  # of this thread: a tool may have opened one


def _delegated(request: Request, called: Called, number: int) -> list[AnyEvent]:
    """Start the agent of a call; return the events of its start, or of the result that it could not be started.

    Raises Fenced, LogLost, RedisError, OperationalError, OSError.
    """
    start_ns = time.perf_counter_ns()
    try:
        agent = start_agent(request, called)
        if not Request.objects.filter(pk=request.pk, finished_at=None).exists():  # it ended meanwhile
            stop(agent, "parent")
        return [agent_started(request, agent, called, number)]
    except (Refused, NotOffered, QueueUnavailable) as error:
        text = refusal_of(error)
    except ToolError as error:
        text = str(error)
    except (RedisError, Fenced, LogLost, OperationalError, OSError):
        raise
    except Exception:  # a request whose call raises would run its round again and again
        logger.exception("The agent of a call of %s was not started", request.pk)
        text = "The agent was not started. The server's log has the details."
    result = catalog.Result(text, is_error=True, duration_us=(time.perf_counter_ns() - start_ns) // 1000)
    return finished(request, called, result, number)


def _as_they_end(
    request: Request, running: Mapping[Future[catalog.Result], Called]
) -> Iterator[tuple[Called, catalog.Result]]:
    """Yield each call with its result. The lease is renewed meanwhile."""
    left = set(running)
    while left:
        done, left = futures.wait(left, _RENEWAL_S, futures.FIRST_COMPLETED)
        for future, called in running.items():  # those that end together, in the calls' order
            if future in done:
                yield called, future.result()
        services.leases().renew([Holding(request.pk, request.attempt)], CALLS_S)


def _announced(request: Request, events: Sequence[AnyEvent], calls: Sequence[_Due]) -> list[AnyEvent]:
    """The events of the calls that run now, or that no question tells of, each written once."""
    at, number = RequestClock(request.accepted_unix_us).at(), last_number(events)
    called = {event.call_id for event in events if isinstance(event, ToolCalled)}
    told = (None, _TOO_MANY, _CANNOT_ASK)
    new = [each.called for each in calls if each.result in told and each.called.id not in called]
    return [_called(each, at, number) for each in new]


def _called(called: Called, at: int, number: int) -> ToolCalled:
    call, tool = called.call, catalog.find(called.call.name)
    return ToolCalled(
        at=at,
        generation=number,
        call_id=called.id,
        name=call.name,
        arguments=call.arguments,
        source=catalog.source_of(call.name),
        sandbox="" if tool is None else tool.sandbox,
    )


def _next_prompt(request: Request, events: Sequence[AnyEvent]) -> list[AnyEvent]:
    """The events of the next generation's prompt. Raises CannotPrepare."""
    clock, number = RequestClock(request.accepted_unix_us), last_number(events)
    params, model = msgspec.convert(request.params, SamplingParams), served(request.model)
    start_ns = time.perf_counter_ns()
    try:
        before = _round(events, round_number(events), model.tokenizer)
        assembled = model.assembler.go_on(before, _results(events), params.max_tokens, may_think(params))
    except ContextTooLarge as error:
        raise CannotPrepare("context", "prompt_too_long", str(error)) from None
    except TemplateError as error:
        raise CannotPrepare("context", "model_unavailable", f"The chat template takes no result: {error}") from None
    duration_us = (time.perf_counter_ns() - start_ns) // 1000
    return [numbered(event, number + 1) for event in packing_events(model, assembled, clock.at(), duration_us)]


def _round(events: Sequence[AnyEvent], number: int, tokenizer: Tokenizer) -> Round:
    own = latest(events)
    context, prompt = first(own, ContextAssembled), first(own, PromptTokenized)
    assert context is not None and prompt is not None
    tokens = [event for event in own if isinstance(event, TokenSampled)]
    if tokens and tokens[-1].is_special:
        tokens.pop()
    answer = SourceMessage("assistant", text_of(own), f"generation:{number}", "history")
    forked = first(own, GenerationForked)
    kept = forked.ids if forked is not None else ()
    return Round(context, prompt, answer, (*kept, *known_ids(tokens, tokenizer.encode)))


def _results(events: Sequence[AnyEvent]) -> list[SourceMessage]:
    """The results in the order of their calls, as parts of one message."""
    told = {event.call_id: event.result for event in events if isinstance(event, ToolFinished)}
    return [
        SourceMessage("user", ("\n" if at else "") + result(told[each.id]), f"tool:{each.id}", "result", at > 0)
        for at, each in enumerate(calls_of(events))
    ]
