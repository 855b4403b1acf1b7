"""Decides from a request's log what is next, and has it done: the one place that carries a request on.

    the log has                       next
    nothing                           begin: it is written again from the row
    its beginning                     prepare
    its prompt                        generate: a worker claims the attempt, or a new attempt takes over from a lost one
    its last generation's end         settle; call, where the answer calls tools of the server
    a question about a call           wait for the user; after its time the call is declined
    an agent's start                  wait for the agent, whose answer is the call's result
    their results                     go on: the model is asked again

Only the last generation counts: those before it are over.
The order of a take-over makes two watchdogs, a late worker and a death at any point harmless. One conditional update of
the row chooses the attempt's number. The log is fenced by that number, and then read to its end. The next step is
appended and queued last. See docs/decisions/0078-an-answer-outlives-its-worker.md.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Literal

from inference.eventlog.clock import RequestClock
from inference.eventlog.entry import end_of
from inference.eventlog.event_log import Fenced, LogLost
from inference.protocol.events import (
    TERMINAL,
    AnyEvent,
    Frame,
    GenerationFinished,
    GenerationInterrupted,
    GenerationResumed,
    GenerationStarted,
    PromptTokenized,
    RequestCancelled,
    SafetyChecked,
    TokenProposed,
    TokenSampled,
)
from inference.protocol.failures import Failure
from inference.protocol.generations import last_number, latest
from webapp.lifecycle import dispatch
from webapp.lifecycle.asking import decline_late
from webapp.lifecycle.attempts import take_attempt
from webapp.lifecycle.generation_request import tokenizer_version
from webapp.lifecycle.placement import unavailable
from webapp.lifecycle.settle import STOPPED_MEANWHILE, beginning, end, leave, settle
from webapp.lifecycle.stop import stop_agents
from webapp.lifecycle.tool_calls import carry_on
from webapp.requests import services
from webapp.requests.failure import CannotPrepare
from webapp.requests.models import Request
from webapp.requests.rounds import after_generation
from webapp.requests.workers import suspect

logger = logging.getLogger(__name__)

_MOST_LOST = 2
"""A request is refused when this many attempts in a row lost their worker and produced no token."""
_MOST_LOST_IN_ALL = 8
_MOST_UNTRIED = 16
"""Attempts in a row whose worker was lost before their turn. So many do not wait beside another request by chance."""

_ENDED_WORKERS = Failure(
    "generation",
    "ended_workers",
    "Several inference workers ended while they computed this answer, so it is not tried again. Change the message.",
)
_REFUSED = Failure("safety", "blocked", "The message was blocked by the safety policy.")

Step = Literal["begin", "prepare", "generate", "refuse", "call", "wait", "go_on", "settle"]


def next_step(events: Sequence[AnyEvent]) -> Step:
    """Return what a log lacks. begin: its beginning, which was lost, or never written. Pure."""
    if not events:
        return "begin"
    if any(isinstance(event, TERMINAL) for event in events):
        return "settle"
    if any(isinstance(event, GenerationFinished) for event in latest(events)):
        return after_generation(events)
    events = latest(events)
    is_begun = any(isinstance(event, GenerationStarted | GenerationResumed) for event in events)
    if not is_begun and any(isinstance(event, SafetyChecked) and event.verdict == "block" for event in events):
        return "refuse"
    return "generate" if any(isinstance(event, PromptTokenized) for event in events) else "prepare"


def report(request_id: str, failure: Failure | None, attempt: int | None) -> None:
    """Carry on a request whose worker reports that its generation is over, or why it failed.

    A report of an attempt that another one has followed changes nothing. attempt: None where the report is repeated.
    """
    if attempt is not None and Request.objects.filter(pk=request_id, attempt__gt=attempt).exists():
        return
    frames = services.event_log().read(request_id)
    if failure is not None or next_step(_events(frames)) == "settle":
        settle(request_id, failure, frames)
    else:
        advance(request_id)


def advance(request_id: str) -> None:
    """Carry on an open request whose next step is overdue. Raises RedisError, OperationalError, OSError."""
    request = Request.objects.filter(pk=request_id, finished_at=None).first()
    if request is None:
        stop_agents(request_id)  # the process that settled it may have died before
        leave(request_id)
        log = services.event_log()
        log.cancel(request_id)  # the process that ended it may have died before its worker knew
        log.retire(request_id)  # a Redis that came back with it lets it expire again
        return
    frames = services.event_log().read(request_id)
    try:
        _advance(request, frames)
    except (Fenced, LogLost) as error:
        logger.warning("%s was carried on elsewhere: %s", request_id, error)


def agent_ended(request_id: str) -> None:
    """Carry on a request one of whose agents has ended. A process that runs its calls now finds the answer itself.

    Raises RedisError, OperationalError, OSError.
    """
    if next_step(_events(services.event_log().read(request_id))) == "wait":
        advance(request_id)


def _advance(request: Request, frames: Sequence[Frame]) -> None:
    match next_step(_events(frames)):
        case "begin":
            _begin(request)
        case "prepare":
            dispatch.queue_preparation(request)
        case "refuse":
            settle(request.pk, _REFUSED)
        case "settle":
            dispatch.queue_report(request)
        case "generate":
            _generate(request, frames)
        case "call":
            _call(request)
        case "wait":
            decline_late(request, _events(frames), end_of(frames))
            carry_on(request)
        case "go_on":
            carry_on(request)


def _call(request: Request) -> None:
    """Let the calls wait in their queue, or queue them for a new attempt. No process runs them now."""
    if not services.event_log().is_claimed(request.pk, request.attempt) and dispatch.are_calls_waiting():
        dispatch.keep_calls_waiting(request)
    elif take_attempt(request):
        dispatch.queue_calls(request)


def _begin(request: Request) -> None:
    """Write the log's beginning again. A worker that still has the lost log keeps its lease, and puts the log back."""
    if take_attempt(request):
        logger.warning("attempt %d of %s begins again", request.attempt, request.pk)
        services.event_log().append(request.pk, [beginning(request)], request.attempt, is_next=True)
        dispatch.queue_preparation(request)


def _generate(request: Request, frames: Sequence[Frame]) -> None:
    """Let the attempt wait in its queue, or take over from it. No worker computes it now."""
    events = _events(frames)
    if any(isinstance(event, RequestCancelled) for event in events):
        end(request.pk, STOPPED_MEANWHILE)
    elif failure := unavailable(request.model, tokenizer_version(events)):
        end(request.pk, failure)
    elif not services.event_log().is_claimed(request.pk, request.attempt) and dispatch.is_waiting(request, events):
        dispatch.keep_waiting(request, events, end_of(frames))
    else:
        _take_over(request)


def _take_over(request: Request) -> None:
    log, leases = services.event_log(), services.leases()
    if worker := leases.worker_of(request.pk):  # it holds the request no longer: it may be gone
        suspect(worker)
    lost = request.attempt
    if not take_attempt(request):
        return
    log.fence(request.pk, request.attempt)
    frames = log.read(request.pk)
    events, logged = _events(frames), end_of(frames)
    if next_step(events) == "settle":
        dispatch.queue_report(request)
        return
    ended = lost if log.is_claimed(request.pk, lost) else last_begun(events)
    told = {event.attempt for event in events if isinstance(event, GenerationInterrupted)}
    if ended is not None and ended not in told:
        events.append(interruption(events, ended, RequestClock(request.accepted_unix_us).at()))
    logger.warning("attempt %d takes over %s", request.attempt, request.pk)
    if is_to_blame(events):
        if new := events[logged.seq :]:
            log.append(request.pk, new, request.attempt, logged, is_next=True)
        settle(request.pk, _ENDED_WORKERS)
        return
    try:
        dispatch.queue_generation(request, events, logged)
    except CannotPrepare as error:
        settle(request.pk, error.failure)


def last_begun(events: Sequence[AnyEvent]) -> int | None:
    """Return the last generation's last attempt whose engine began; None: none did. Pure."""
    begun = [event.attempt for event in latest(events) if isinstance(event, GenerationStarted | GenerationResumed)]
    return begun[-1] if begun else None


def interruption(events: Sequence[AnyEvent], attempt: int, at: int) -> GenerationInterrupted:
    """Return the event that tells that the attempt lost its worker. Pure."""
    begun = (event for event in events if isinstance(event, GenerationStarted | GenerationResumed))
    return GenerationInterrupted(
        at=at,
        generation=last_number(events),
        attempt=attempt,
        cause="lost",
        worker=next((event.worker for event in begun if event.attempt == attempt), None),
        silent_us=at - events[-1].at,
    )


def is_to_blame(events: Sequence[AnyEvent]) -> bool:
    """Return whether a request's last generation has ended so many workers that no other is to run it. Pure.

    A worker resumes one answer at a time. So an attempt that was lost before its turn is not counted: another request
    may have ended that worker. A new token shows that a request can be computed.
    """
    events = latest(events)
    resumed = {event.attempt for event in events if isinstance(event, GenerationResumed)}
    num_lost = num_in_all = num_untried = 0
    is_first = True
    for event in events:
        if isinstance(event, TokenSampled | TokenProposed):
            num_lost = num_untried = 0
        elif isinstance(event, GenerationInterrupted):
            is_lost = event.cause == "lost"
            is_counted = is_lost and (is_first or event.attempt in resumed)
            num_untried += is_lost and not is_counted
            num_lost, num_in_all, is_first = num_lost + is_counted, num_in_all + is_counted, False
    return num_lost >= _MOST_LOST or num_in_all >= _MOST_LOST_IN_ALL or num_untried >= _MOST_UNTRIED


def _events(frames: Sequence[Frame]) -> list[AnyEvent]:
    return [event for frame in frames for event in frame.events]
