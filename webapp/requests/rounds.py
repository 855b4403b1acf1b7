"""Decides from a request's events whether its tools are called, and what follows. Pure: events in, values out.

One round is one generation. An answer whose text has calls of the server's tools is not over: the calls are run, and
the model is asked again with their results. An API client's own tools are called by the client, so its request is over.
A call of a tool that changes something is asked about first. It waits for the user's decision, and holds nothing. So
does a call that started an agent, until the agent's request has ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from inference.protocol import tool_calls
from inference.protocol.events import (
    AgentStarted,
    AnyEvent,
    GenerationFinished,
    RequestAccepted,
    RequestCancelled,
    TextReleased,
    ToolApprovalAsked,
    ToolApproved,
    ToolDeclined,
    ToolFinished,
    first,
)
from inference.protocol.generations import by_number, last_number, latest

MAX_ROUNDS = 6
"""Generations of one request. The last one is offered no tool, so that it answers."""
MAX_CALLS = 8
"""Calls of one round that are run; the model reads of the others that they were too many."""
MEMORY = "memory"
"""The feature flag of a request that the user's memories were searched for."""
_TOOL = "tool:"
"""Prefix of a feature flag that turns one of the server's tools on."""
_APPROVAL = "approval:"
"""Prefix of a feature flag of a tool whose calls wait until the user has approved them."""

Next = Literal["settle", "call", "wait", "go_on"]


@dataclass(frozen=True)
class Called:
    """A call of one of the server's tools."""

    id: str
    """Unique in its request, and the same for each process that reads the log."""
    call: tool_calls.Call


def flags_of(names: Sequence[str], with_approval: Sequence[str] = ()) -> tuple[str, ...]:
    """The feature flags that turn these tools on. with_approval: those of them whose calls the user must approve."""
    return tuple(f"{_TOOL}{name}" for name in names) + tuple(f"{_APPROVAL}{name}" for name in with_approval)


def tools_of(features: Sequence[str]) -> frozenset[str]:
    """The names of the server's tools that these feature flags turn on."""
    return frozenset(flag.removeprefix(_TOOL) for flag in features if flag.startswith(_TOOL))


def calls_of(events: Sequence[AnyEvent]) -> list[Called]:
    """The calls that the last generation made of the server's tools. events: all of the request's."""
    return _calls(tools_of(_flags(events)), last_number(events), _text(latest(events)))


def _flags(events: Sequence[AnyEvent]) -> tuple[str, ...]:
    accepted = first(events, RequestAccepted)
    return accepted.features if accepted is not None else ()


def _calls(names: frozenset[str], number: int, text: str) -> list[Called]:
    """names: of the server's tools that are on. text: of the generation with this number."""
    calls = [call for call in tool_calls.split(text)[1] if call.name in names] if names else []
    return [Called(f"call_{number}_{index}", call) for index, call in enumerate(calls)]


def _text(events: Iterable[AnyEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextReleased))


def unfinished(events: Sequence[AnyEvent]) -> list[Called]:
    """Those of the calls that have no result yet."""
    done = {event.call_id for event in events if isinstance(event, ToolFinished)}
    return [each for each in calls_of(events) if each.id not in done]


def unasked(events: Sequence[AnyEvent]) -> list[Called]:
    """Those of the calls that the user must approve and was not asked about."""
    flags = _flags(events)
    asked = {event.call_id for event in events if isinstance(event, ToolApprovalAsked)}
    calls = calls_of(events)[:MAX_CALLS]
    return [each for each in calls if f"{_APPROVAL}{each.call.name}" in flags and each.id not in asked]


def undecided(events: Sequence[AnyEvent]) -> list[ToolApprovalAsked]:
    """The questions about calls that the user has not answered."""
    decided = {event.call_id for event in events if isinstance(event, ToolApproved | ToolDeclined | ToolFinished)}
    return [event for event in events if isinstance(event, ToolApprovalAsked) and event.call_id not in decided]


def working(events: Sequence[AnyEvent]) -> list[AgentStarted]:
    """The agents whose answers are not among the results yet."""
    done = {event.call_id for event in events if isinstance(event, ToolFinished)}
    return [event for event in events if isinstance(event, AgentStarted) and event.call_id not in done]


def due(events: Sequence[AnyEvent]) -> list[Called]:
    """Those of the calls without a result that wait for no decision and for no agent."""
    open_ids = {*(event.call_id for event in undecided(events)), *(event.call_id for event in working(events))}
    waiting = {each.id for each in unasked(events)} | open_ids
    return [each for each in unfinished(events) if each.id not in waiting]


def rounds_of(events: Sequence[AnyEvent]) -> list[dict[str, Any]] | None:
    """The generations before the last with their calls, as a request's row keeps them; None: there was no other."""
    if not (names := tools_of(_flags(events))):
        return None
    results = {event.call_id: event for event in events if isinstance(event, ToolFinished)}
    found, generations = [], by_number(events)
    for number in range(last_number(events)):
        text = _text(generations.get(number, ()))
        calls = [_kept(each, results[each.id]) for each in _calls(names, number, text) if each.id in results]
        found.append({"text": text, "calls": calls})
    return found or None


def _kept(called: Called, result: ToolFinished) -> dict[str, Any]:
    call = called.call
    return {"name": call.name, "arguments": call.arguments, "result": result.result, "is_error": result.is_error}


def is_pausing(events: Sequence[AnyEvent]) -> bool:
    """Return whether the last generation has finished with calls, so that the model is asked again."""
    finished = first(latest(events), GenerationFinished)
    if finished is None or finished.finish_reason != "stop" or last_number(events) + 1 >= MAX_ROUNDS:
        return False
    return bool(calls_of(events))


def after_generation(events: Sequence[AnyEvent]) -> Next:
    """Return what follows the last generation, which has finished."""
    if not is_pausing(events) or any(isinstance(event, RequestCancelled) for event in events):
        return "settle"
    if due(events) or unasked(events):
        return "call"
    return "wait" if undecided(events) or working(events) else "go_on"
