"""Starts agents for calls of an answer, and takes their answers as the calls' results.

An agent is a request of its own, with its own trace and bill. Its id follows from the call, so that a call starts one
agent whatever dies. The request that started it waits meanwhile and holds nothing. See docs/decisions/0146.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import msgspec
from django.db import IntegrityError
from kombu.exceptions import OperationalError

from inference.eventlog.clock import RequestClock, unix_us
from inference.eventlog.entry import end_of
from inference.eventlog.event_log import Fenced, LogLost
from inference.protocol.events import AgentFinished, AgentStarted, AnyEvent
from inference.protocol.generations import last_number
from inference.protocol.request import SamplingParams, Usage
from inference.protocol.tool_calls import ToolCalls
from webapp.celery import app
from webapp.ground.context.assemble import SourceMessage
from webapp.ground.context.tools import definitions_part
from webapp.identifiers import derived_request_id
from webapp.lifecycle.begin import begin
from webapp.lifecycle.start import Arrival, QueueUnavailable
from webapp.lifecycle.tool_results import finished
from webapp.models.billing.bill import UNPRICED
from webapp.models.billing.models import LedgerEntry
from webapp.models.registry.offered import NotOffered
from webapp.requests import services
from webapp.requests.input import Messages, MessagesInput, features_of
from webapp.requests.models import Request
from webapp.requests.rounds import Called, approved_of, calls_of, flags_of, speculation_of, tools_of, working
from webapp.tools import catalog
from webapp.tools.delegate import DELEGATE, task_of
from webapp.tools.tool import ServerTool
from webapp.usage.limits.refusal import Refused

logger = logging.getLogger(__name__)

SURFACE = "agent"
_INSTRUCTION = "Another assistant gives you a task. Do the task, and answer with the result alone."
_TITLE_CHARS = 200
_TRIES = 10
"""Other writers, such as the results of other calls, may append between reading and writing."""

_Answer = tuple[str, bool]
"""The result's text, and whether it is an error."""


def start_agent(parent: Request, called: Called) -> Request:
    """Return the agent of this call, which begins where it has not begun before.

    Raises Refused, NotOffered, QueueUnavailable, ToolError, RedisError.
    """
    pk = derived_request_id(parent.pk, called.id)
    found = Request.objects.filter(pk=pk).first()
    if found is None:
        found = _agent(parent, called, pk)
        arrival = Arrival(found.accepted_unix_us, SURFACE, api_key=found.key)
        try:
            begin([found], [msgspec.convert(found.params, SamplingParams)], arrival)
        except IntegrityError:  # a process that is late began it meanwhile
            found = Request.objects.get(pk=pk)
    return found


def refusal_of(error: Refused | NotOffered | QueueUnavailable) -> str:
    """The result of a call whose agent could not be started."""
    why = "The server's queue could not be reached." if isinstance(error, QueueUnavailable) else str(error)
    return f"The agent was not started. {why}"


def _agent(parent: Request, called: Called, pk: str) -> Request:
    task, tools = task_of(called.call.arguments), _tools_of(parent)
    params = msgspec.convert(parent.params, SamplingParams)
    calls = ToolCalls(tools=tuple(each.definition for each in tools)) if tools else None
    return Request(
        pk=pk,
        agent_of=parent,
        user_id=parent.user_id,
        key=parent.key,
        surface=SURFACE,
        model=parent.model,
        title=" ".join(task.split())[:_TITLE_CHARS],
        input=MessagesInput(_messages(task, tools), features=_features(parent, tools), is_keeping=True),
        params=msgspec.to_builtins(msgspec.structs.replace(params, tool_calls=calls)),
        accepted_unix_us=unix_us(),
    )


def _tools_of(parent: Request) -> list[ServerTool]:
    """The tools of an agent: its parent's that need no approval, then and now. An agent starts no agents."""
    flags = features_of(parent.input)
    names = tools_of(flags) - approved_of(flags) - {DELEGATE.definition.name}
    return [each for each in catalog.usable(names) if not each.needs_approval]


def _features(parent: Request, tools: Sequence[ServerTool]) -> tuple[str, ...]:
    return flags_of([each.definition.name for each in tools]) + speculation_of(features_of(parent.input))


def _messages(task: str, tools: Sequence[ServerTool]) -> Messages:
    found = [SourceMessage("system", _INSTRUCTION, "agent:system", "system")]
    if tools:
        found.append(definitions_part([each.definition for each in tools], is_continued=True))
    return *found, SourceMessage("user", task, "agent:task", "user")


def agent_started(request: Request, agent: Request, called: Called, number: int) -> AgentStarted:
    """The event of an agent that began. number: of the generation that made the call."""
    return AgentStarted(
        at=RequestClock(request.accepted_unix_us).at(),
        generation=number,
        call_id=called.id,
        request_id=agent.pk,
        accepted_unix_us=agent.accepted_unix_us,
    )


def with_answers(request: Request) -> list[AnyEvent]:
    """Write the answers of the agents that have ended as their calls' results; return all of the request's events.

    Raises Fenced, LogLost, RedisError.
    """
    for _ in range(_TRIES):
        frames = services.event_log().read(request.pk)
        events = [event for frame in frames for event in frame.events]
        if not (new := _answers(request, events)):
            return events
        try:
            services.event_log().append(request.pk, new, request.attempt, end_of(frames), is_next=True)
            return [*events, *new]
        except Fenced:
            if not Request.objects.filter(pk=request.pk, attempt=request.attempt, finished_at=None).exists():
                raise
    raise LogLost(f"{request.pk} is written to without a pause")


def _answers(request: Request, events: Sequence[AnyEvent]) -> list[AnyEvent]:
    started = {event.request_id: event for event in working(events)}
    if not started:
        return []
    called = {each.id: each for each in calls_of(events)}
    rows = Request.objects.defer("input").in_bulk(started)
    found: list[AnyEvent] = []
    for pk, event in started.items():
        agent = rows.get(pk)
        if agent is None or agent.is_settled:
            found += _answer(request, called[event.call_id], event, agent, last_number(events))
    return found


def _answer(
    request: Request, called: Called, started: AgentStarted, agent: Request | None, number: int
) -> list[AnyEvent]:
    """The events of an agent that has ended. agent: None where its trace was deleted."""
    at = RequestClock(request.accepted_unix_us).at()
    text, is_error = _told(agent)
    result = catalog.Result(catalog.bounded(text), is_error, at - started.at)
    ended = [] if agent is None else [_finished(agent, started, at, number)]
    return [*ended, *finished(request, called, result, number)]


def _finished(agent: Request, started: AgentStarted, at: int, number: int) -> AgentFinished:
    status: Any = agent.status
    total_nano, currency = _billed(agent)
    return AgentFinished(
        at=at,
        generation=number,
        call_id=started.call_id,
        request_id=agent.pk,
        status=status,
        usage=msgspec.convert(agent.usage or {}, Usage),
        total_nano=total_nano,
        currency=currency,
    )


def _billed(agent: Request) -> tuple[int | None, str]:
    """The amount and its currency, as of AgentFinished."""
    entry = LedgerEntry.objects.filter(request_id=agent.pk).first()
    if entry is None:
        return 0, ""
    return (None, "") if entry.price_version == UNPRICED else (entry.total_nano, entry.currency)


def _told(agent: Request | None) -> _Answer:
    """The agent's answer, as the result of the call."""
    if agent is None:
        return "The agent's request was deleted, so its answer is lost.", True
    match agent.status:
        case Request.Status.DONE:
            note = "\n(cut off: the agent reached its limit of tokens)" if agent.finish_reason == "length" else ""
            return agent.last_text + note, False
        case Request.Status.STOPPED:
            return "The agent was stopped before it had answered.", True
        case Request.Status.BLOCKED | Request.Status.WITHHELD:
            return "The safety policy stopped the agent.", True
    return f"The agent failed: {agent.error_message}", True


def tell_agents(request: Request) -> None:
    """Tell of a request's end: its parent takes its answer, and its agents that are left are stopped.

    A message that is lost costs a few seconds: the parent looks for answers itself.
    """
    tasks = []
    if request.agent_of_id is not None:
        tasks.append(("lifecycle.agent_ended", request.agent_of_id))
    if DELEGATE.definition.name in tools_of(features_of(request.input)):
        tasks.append(("lifecycle.stop_agents", request.pk))
    for name, pk in tasks:
        try:
            app.send_task(name, args=[pk])
        except (OperationalError, OSError):
            logger.warning("%s of %s could not be queued", name, pk)
