"""Decides from a request's events whether its tools are called, and what follows. Pure: events in, values out.

One round is one generation. An answer whose text has calls of the server's tools is not over: the calls are run, and
the model is asked again with their results. An API client's own tools are called by the client, so its request is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from inference.protocol import tool_calls
from inference.protocol.events import (
    AnyEvent,
    GenerationEvent,
    GenerationFinished,
    RequestAccepted,
    RequestCancelled,
    TextReleased,
    ToolFinished,
    first,
)
from inference.protocol.generations import last_number, latest

MAX_ROUNDS = 6
"""Generations of one request. The last one is offered no tool, so that it answers."""
MAX_CALLS = 8
"""Calls of one round that are run; the model reads of the others that they were too many."""
_TOOL = "tool:"
"""Prefix of a feature flag that turns one of the server's tools on."""

Next = Literal["settle", "call", "go_on"]


@dataclass(frozen=True)
class Called:
    """A call of one of the server's tools."""

    id: str
    """Unique in its request, and the same for each process that reads the log."""
    call: tool_calls.Call


def flags_of(names: Sequence[str]) -> tuple[str, ...]:
    """The feature flags that turn these tools on."""
    return tuple(f"{_TOOL}{name}" for name in names)


def tools_of(features: Sequence[str]) -> frozenset[str]:
    """The names of the server's tools that these feature flags turn on."""
    return frozenset(flag.removeprefix(_TOOL) for flag in features if flag.startswith(_TOOL))


def calls_of(events: Sequence[AnyEvent]) -> list[Called]:
    """The calls that the last generation made of the server's tools. events: all of the request's."""
    accepted = first(events, RequestAccepted)
    names = tools_of(accepted.features) if accepted is not None else frozenset()
    if not names:
        return []
    number = last_number(events)
    text = "".join(event.text for event in latest(events) if isinstance(event, TextReleased))
    calls = [call for call in tool_calls.split(text)[1] if call.name in names]
    return [Called(f"call_{number}_{index}", call) for index, call in enumerate(calls)]


def unfinished(events: Sequence[AnyEvent]) -> list[Called]:
    """Those of the calls that have no result yet."""
    done = {event.call_id for event in events if isinstance(event, ToolFinished)}
    return [each for each in calls_of(events) if each.id not in done]


def rounds_of(events: Sequence[AnyEvent]) -> list[dict[str, Any]] | None:
    """The generations before the last with their calls, as a request's row keeps them; None: there was no other."""
    results = {event.call_id: event for event in events if isinstance(event, ToolFinished)}
    found = []
    for number in range(last_number(events)):
        until = [event for event in events if not isinstance(event, GenerationEvent) or event.generation <= number]
        text = "".join(event.text for event in latest(until) if isinstance(event, TextReleased))
        calls = [_kept(each, results[each.id]) for each in calls_of(until) if each.id in results]
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
    return "call" if unfinished(events) else "go_on"
