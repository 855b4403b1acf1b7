"""Decides from a request's events whether its tools are called, and what follows. Pure: events in, values out.

One round is one generation. An answer whose text has calls of the server's tools is not over: the calls are run, and
the model is asked again with their results. An API client's own tools are called by the client, so its request is over.
A call of a tool that changes something is asked about first. It waits for the user's decision, and holds nothing. So
does a call that started an agent, until the agent's request has ended.
A fork keeps the rounds of the answer that it leaves. They count, and their calls are not made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from inference.protocol import tool_calls
from inference.protocol.events import (
    AgentStarted,
    AnyEvent,
    GenerationFinished,
    GenerationForked,
    KeptCall,
    KeptRound,
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
ATTACHMENTS = "attachments"
"""The feature flag of a request whose conversation has files for the prompt."""
NO_SPECULATION = "speculation:off"
"""The feature flag of a request whose tokens are not guessed ahead. Without it the worker decides."""
_TOOL = "tool:"
"""Prefix of a feature flag that turns one of the server's tools on."""
_APPROVAL = "approval:"
"""Prefix of a feature flag of a tool whose calls wait until the user has approved them."""
_DECLINED = "declined:"
"""Prefix of a feature flag of a tool whose calls are declined, since the request cannot ask its user."""

Next = Literal["settle", "call", "wait", "go_on"]


@dataclass(frozen=True)
class Called:
    """A call of one of the server's tools."""

    id: str
    """Unique in its request, and the same for each process that reads the log."""
    call: tool_calls.Call


def flags_of(names: Sequence[str], with_approval: Sequence[str] = (), may_ask: bool = True) -> tuple[str, ...]:
    """The feature flags that turn these tools on. with_approval: those of them whose calls the user must approve.

    may_ask: False where the request cannot ask its user, so that such calls are declined.
    """
    prefix = _APPROVAL if may_ask else _DECLINED
    return tuple(f"{_TOOL}{name}" for name in names) + tuple(f"{prefix}{name}" for name in with_approval)


def tools_of(features: Sequence[str]) -> frozenset[str]:
    """The names of the server's tools that these feature flags turn on."""
    return frozenset(flag.removeprefix(_TOOL) for flag in features if flag.startswith(_TOOL))


def approved_of(features: Sequence[str]) -> frozenset[str]:
    """The names of the tools whose calls wait for their user, or would wait if the request could ask."""
    prefixes = (_APPROVAL, _DECLINED)
    return frozenset(flag.partition(":")[2] for flag in features if flag.startswith(prefixes))


def speculation_of(features: Sequence[str]) -> tuple[str, ...]:
    """Those of the feature flags that turn speculation off."""
    return tuple(flag for flag in features if flag == NO_SPECULATION)


def is_declined(events: Sequence[AnyEvent], called: Called) -> bool:
    """Return whether the call is declined, since the request cannot ask its user."""
    return f"{_DECLINED}{called.call.name}" in _flags(events)


def kept_rounds(events: Iterable[AnyEvent]) -> tuple[KeptRound, ...]:
    """The rounds of another answer that a fork keeps."""
    forked = first(events, GenerationForked)
    return () if forked is None else forked.rounds


def round_number(events: Sequence[AnyEvent]) -> int:
    """Return the number of the last generation's round, from 0, those that a fork keeps included."""
    return len(kept_rounds(events)) + last_number(events)


def num_given(events: Sequence[AnyEvent]) -> int:
    """The tokens of the rounds that are over, those that a fork keeps included. Its own beginning counts with them."""
    own = sum(event.usage.output for event in events if isinstance(event, GenerationFinished))
    forked = first(events, GenerationForked)
    begun = len(forked.ids) if forked is not None and last_number(events) > forked.generation else 0
    return own + begun + sum(each.num_tokens for each in kept_rounds(events))


def calls_of(events: Sequence[AnyEvent]) -> list[Called]:
    """The calls that the last generation made of the server's tools. events: all of the request's."""
    return _calls(tools_of(_flags(events)), round_number(events), text_of(latest(events)))


def _flags(events: Sequence[AnyEvent]) -> tuple[str, ...]:
    accepted = first(events, RequestAccepted)
    return accepted.features if accepted is not None else ()


def _calls(names: frozenset[str], number: int, text: str) -> list[Called]:
    """names: of the server's tools that are on. text: of the round with this number."""
    calls = [call for call in tool_calls.split(text)[1] if call.name in names] if names else []
    return [Called(f"call_{number}_{index}", call) for index, call in enumerate(calls)]


def text_of(events: Iterable[AnyEvent]) -> str:
    """The text of one generation, with the beginning that a fork took over."""
    return "".join(event.text for event in events if isinstance(event, GenerationForked | TextReleased))


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
    kept = [_as_kept(each) | {"is_kept": True} for each in kept_rounds(events)]
    return [*kept, *map(_as_kept, rounds_before(events, last_number(events)))] or None


def rounds_before(events: Sequence[AnyEvent], generation: int) -> tuple[KeptRound, ...]:
    """The request's own rounds before a generation, with their calls and results."""
    names, generations = tools_of(_flags(events)), by_number(events)
    if not names:
        return ()
    results = {event.call_id: event for event in events if isinstance(event, ToolFinished)}
    num_kept = len(kept_rounds(events))
    return tuple(_round(names, num_kept + at, generations.get(at, []), results) for at in range(generation))


def _round(
    names: frozenset[str], number: int, own: Sequence[AnyEvent], results: Mapping[str, ToolFinished]
) -> KeptRound:
    text = text_of(own)
    calls = (_kept(each, results[each.id]) for each in _calls(names, number, text) if each.id in results)
    finished, forked = first(own, GenerationFinished), first(own, GenerationForked)
    num_tokens = (0 if finished is None else finished.usage.output) + (0 if forked is None else len(forked.ids))
    return KeptRound(text=text, num_tokens=num_tokens, calls=tuple(calls))


def _as_kept(own: KeptRound) -> dict[str, Any]:
    return {"text": own.text, "calls": [msgspec.to_builtins(each) for each in own.calls]}


def _kept(called: Called, result: ToolFinished) -> KeptCall:
    call = called.call
    return KeptCall(name=call.name, arguments=call.arguments, result=result.result, is_error=result.is_error)


def is_pausing(events: Sequence[AnyEvent]) -> bool:
    """Return whether the last generation has finished with calls, so that the model is asked again."""
    finished = first(latest(events), GenerationFinished)
    if finished is None or finished.finish_reason != "stop" or round_number(events) + 1 >= MAX_ROUNDS:
        return False
    return bool(calls_of(events))


def after_generation(events: Sequence[AnyEvent]) -> Next:
    """Return what follows the last generation, which has finished."""
    if not is_pausing(events) or any(isinstance(event, RequestCancelled) for event in events):
        return "settle"
    if due(events) or unasked(events):
        return "call"
    return "wait" if undecided(events) or working(events) else "go_on"
