"""The rules that every reader of a trace relies on, checked where a trace from elsewhere is imported. Pure.

The decoder has checked names and types. Here the values are checked: numbers are in range, lists that belong together
have one length, and what is listed by name has each name once.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import msgspec

from inference.protocol.events import (
    AnyEvent,
    BillPosted,
    CacheLookedUp,
    ClientTiming,
    ContextAssembled,
    ContextCompared,
    DraftVerified,
    GenerationEvent,
    GenerationForked,
    Limit,
    PrefillAdvanced,
    PromptTokenized,
    RequestAccepted,
    SafetyChecked,
    TokenProposed,
    TokenSampled,
    ToolCalled,
)
from inference.protocol.request import SamplingParams

_MAX_COUNT = 2**31
"""Above any number of tokens, blocks and sequences, and any token's id."""
_MAX_TIME = 2**50
"""For durations and for times since the request was accepted, in µs: 35 years. A trace file holds their differences."""
_MAX_LARGE = 2**53
"""For prices, limits and times of day: a browser holds integers up to this exactly."""
_MAX_FLOAT = 1e6
_MAX_GENERATIONS = 1000
_IN_ORDER = f"not be below that of an event before it, and be below {_MAX_GENERATIONS:,}"
_ROUNDING = 1e-3
"""A probability or its logarithm is rounded when it is recorded."""
_PATH = re.compile(r"/(record/[A-Za-z0-9._-]+/)?v1/[A-Za-z_/]+")
"""The addresses of the API's calls. The page writes a call to copy, with the reader's key, to the one in the trace."""
_SIGNED = {"at", "received_at"}
"""The browser's times come before the request was accepted."""
_LARGE = ("_nano", "_unix_us")
_TIMES = ("_us", "at")
_SIGNED_STRUCTS = (ClientTiming, SamplingParams)
_LARGE_STRUCTS = (*_SIGNED_STRUCTS, Limit)


class BadEvent(ValueError):
    """An event breaks a rule; the message names the field and says what it must be."""


def check_events(events: Iterable[AnyEvent]) -> None:
    """Raises BadEvent for the first event that breaks a rule."""
    generation, position, call_ids = 0, -1, set[str]()
    for number, event in enumerate(events, 1):
        name = f"event {number}, {event.__struct_config__.tag}"
        _check_numbers(event, name)
        if rule := _RULES.get(type(event)):
            rule(event, name)
        if isinstance(event, GenerationEvent) and event.generation != generation:
            _require(generation < event.generation < _MAX_GENERATIONS, f"{name}.generation", _IN_ORDER)
            generation, position = event.generation, -1
        if isinstance(event, TokenSampled):
            _require(event.position > position, f"{name}.position", "rise from token to token")
            position = event.position
        if isinstance(event, ToolCalled):
            _require(event.call_id not in call_ids, f"{name}.call_id", "be one that no earlier call has")
            call_ids.add(event.call_id)


def _require(holds: bool, field: str, rule: str) -> None:
    if not holds:
        raise BadEvent(f"{field} must {rule}. Export the trace again from the server that made it.")


def _check_numbers(value: msgspec.Struct, path: str) -> None:
    """Check each number inside the value against the range of its field."""
    for name in value.__struct_fields__:
        _check_value(getattr(value, name), f"{path}.{name}", *_range(value, name))


def _range(value: msgspec.Struct, name: str) -> tuple[int, int]:
    """The smallest whole number of the field, and one past the largest."""
    most = _MAX_TIME if name.endswith(_TIMES) else _MAX_COUNT
    if isinstance(value, _LARGE_STRUCTS) or name.endswith(_LARGE):
        most = _MAX_LARGE
    return (-most if name in _SIGNED or isinstance(value, _SIGNED_STRUCTS) else 0), most


def _check_value(value: Any, path: str, least: int, most: int) -> None:
    if isinstance(value, msgspec.Struct):
        _check_numbers(value, path)
    elif isinstance(value, tuple):
        for each in value:
            _check_value(each, path, least, most)
    elif type(value) is int:
        _require(least <= value < most, path, f"be between {least:,} and {most - 1:,}")
    elif isinstance(value, float):
        _require(math.isfinite(value) and abs(value) <= _MAX_FLOAT, path, f"be between -{_MAX_FLOAT:g} and 1e+06")


def _share(value: float | None, path: str) -> None:
    _require(value is None or -_ROUNDING <= value <= 1 + _ROUNDING, path, "be between 0 and 1")


def _once(values: Sequence[Hashable], path: str) -> None:
    _require(len(set(values)) == len(values), path, "have each entry once")


def _as_long(values: Sequence[Any] | None, others: Sequence[Any], path: str, other: str) -> None:
    _require(values is None or len(values) == len(others), path, f"have as many entries as {other}")


def _json(text: str | None, path: str) -> None:
    """The page writes the text into a program to copy, so that anything but JSON would run there."""
    try:
        json.loads(text or "null", parse_int=str, parse_float=str, parse_constant=_no_number)
        is_json = True
    except (ValueError, RecursionError):
        is_json = False
    _require(is_json, path, "be JSON")


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _accepted(event: RequestAccepted, name: str) -> None:
    if event.sent is not None:
        path, body = event.sent.path, event.sent.body
        _require(_PATH.fullmatch(path) is not None, f"{name}.sent.path", "be an address below /v1/ of the API")
        _require(body.lstrip().startswith("{"), f"{name}.sent.body", "be a JSON object")
        _json(body, f"{name}.sent.body")
    _json(event.params.json_schema, f"{name}.params.json_schema")
    for tool in event.params.tool_calls.tools if event.params.tool_calls else ():
        _json(tool.parameters, f"{name}.params.tool_calls.tools.parameters")


def _sampled(event: TokenSampled, name: str) -> None:
    for field in ("u", "low", "high"):
        _share(getattr(event, field), f"{name}.{field}")
    _require((event.low or 0) <= (1 if event.high is None else event.high), f"{name}.low", "not be above high")
    _require((event.logprob or 0) <= _ROUNDING, f"{name}.logprob", "not be above 0")
    _require((event.entropy or 0) >= -_ROUNDING, f"{name}.entropy", "not be negative")
    _as_long(event.candidate_logits, event.candidate_ids, f"{name}.candidate_logits", "candidate_ids")
    _as_long(event.candidate_pieces, event.candidate_ids, f"{name}.candidate_pieces", "candidate_ids")
    _once(event.candidate_ids, f"{name}.candidate_ids")
    _once([each.name for each in event.processors or ()], f"{name}.processors")
    for each in event.processors or ():
        _share(each.mass, f"{name}.processors.mass")
        num = len(each.logits or ())
        _require(
            num <= len(event.candidate_ids), f"{name}.processors.logits", "have no more entries than candidate_ids"
        )


def _looked_up(event: CacheLookedUp, name: str) -> None:
    _require(event.block_size >= 1, f"{name}.block_size", "be 1 or more")


def _assembled(event: ContextAssembled, name: str) -> None:
    end = 0
    for segment in event.segments:
        _require(segment.start == end <= segment.end, f"{name}.segments", "follow each other without a gap")
        end = segment.end
    _require(end <= event.num_prompt_tokens, f"{name}.segments", "end with the prompt")


def _compared(event: ContextCompared, name: str) -> None:
    _once([each.source for each in event.removed], f"{name}.removed")
    _once([each.index for each in event.changed], f"{name}.changed")


def _tokenized(event: PromptTokenized, name: str) -> None:
    _as_long(event.pieces, event.ids, f"{name}.pieces", "ids")
    _require(max(event.special, default=0) <= len(event.ids), f"{name}.special", "hold places in ids")


def _prefilled(event: PrefillAdvanced, name: str) -> None:
    _require(event.start <= event.end <= event.total, f"{name}.end", "lie between start and total")


def _checked(event: SafetyChecked, name: str) -> None:
    _once([score.category for score in event.scores], f"{name}.scores")
    _require(event.start <= event.end, f"{name}.end", "not be below start")
    for score in event.scores:
        _share(score.score, f"{name}.scores.score")


_RULES: dict[type[Any], Callable[[Any, str], None]] = {
    RequestAccepted: _accepted,
    TokenSampled: _sampled,
    TokenProposed: lambda event, name: _sampled(event.token, f"{name}.token"),
    CacheLookedUp: _looked_up,
    ContextAssembled: _assembled,
    ContextCompared: _compared,
    PromptTokenized: _tokenized,
    PrefillAdvanced: _prefilled,
    SafetyChecked: _checked,
    BillPosted: lambda event, name: _once([each.kind for each in event.lines], f"{name}.lines"),
    GenerationForked: lambda event, name: _as_long(event.pieces, event.ids, f"{name}.pieces", "ids"),
    DraftVerified: lambda event, name: _require(
        event.num_accepted <= len(event.ids), f"{name}.num_accepted", "not be above the number of guesses"
    ),
}
