"""Removes texts and tokens from a trace. Pure: frames in, frames out.

Each event names the fields that stay, in `unredacted` beside its struct. Every other field gets its default or a
replacement. So a new field is left out until its author decides that it reveals nothing. Times, counts, structure and
probabilities stay. Texts become a notice, and tokens a mark of one width. Token ids become their places, which do not
reveal the tokens. The result is still a fingerprint: see docs/decisions/0016.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from inference.protocol import events as ev
from inference.protocol.request import CacheMark, SamplingParams, Usage

TEXT = "[redacted]"
MARK = "\u25ae "
"""Replaces each token that has bytes, in the answer's text and among the candidates; the space lets lines break."""
_SPECIAL_IDS = 100_000
"""First place of control tokens, which have no bytes."""

_UNREDACTED_OF_PARAMS = (
    "repetition_penalty frequency_penalty presence_penalty dry_multiplier dry_base dry_allowed_length "
    "dry_penalty_last_n temperature top_k top_p min_p typical_p max_tokens stop_on_repetition"
)
_UNREDACTED_OF_USAGE = "uncached_input cache_read cache_write_5m cache_write_1h output"
"""Fields of Usage that stay; each event, and each value inside one, names its own in `unredacted`."""

_UNREDACTED_OF_SUMMARY = (
    "id status surface model created_at cost_nano currency finish_reason num_events duration_us first_token_us "
    "first_text_us is_imported fork_position num_kept"
)
_UNREDACTED_OF_PARTS = {
    "usage": _UNREDACTED_OF_USAGE,
    "error": "stage code",
    "safety": "verdict layers",
    "between_tokens_us": "mean median p95 worst",
}
"""Fields that stay of the summary's parts, each an object or None."""


def redact(frames: Sequence[ev.Frame]) -> list[ev.Frame]:
    """Redact the frames. Events without `unredacted` are dropped; the others are renumbered without a gap."""
    redaction = _Redaction(frames)
    found: list[ev.Frame] = []
    seq = 1
    for frame in frames:
        events = tuple(redaction.event(event) for event in frame.events if event.unredacted is not None)
        if events:
            found.append(ev.Frame(seq=seq, events=events))
            seq += len(events)
    return found


def redact_summary(summary: dict[str, Any]) -> dict[str, Any]:
    """RequestSummary without its texts, and without the request's places in chat and runs."""
    found = _named(summary, _UNREDACTED_OF_SUMMARY) | {"title": "Redacted request"}
    for part, names in _UNREDACTED_OF_PARTS.items():
        if part in summary:
            found[part] = summary[part] and _named(summary[part], names)
    if found.get("error"):
        found["error"]["message"] = TEXT
    return found


def _named(values: dict[str, Any], names: str) -> dict[str, Any]:
    return {name: values[name] for name in names.split() if name in values}


class _Redaction:
    """Redacts one trace; knows which tokens have bytes, because each of them becomes a mark in the answer's text."""

    def __init__(self, frames: Sequence[ev.Frame]) -> None:
        events = [event for frame in frames for event in frame.events]
        self._has_bytes: dict[int, list[bool]] = {}
        """By generation, one flag per token."""
        for event in events:
            if isinstance(event, ev.TokenSampled):
                self._has_bytes.setdefault(event.generation, []).append(bool(event.piece))
        self._num_released: dict[int, int] = {}

    def event(self, event: ev.AnyEvent) -> ev.AnyEvent:
        redacted: ev.AnyEvent = _redacted(event, **self._replaced(event))
        return redacted

    def _replaced(self, event: ev.AnyEvent) -> dict[str, Any]:
        """Replacements for fields that do not stay and cannot be a notice."""
        match event:
            case ev.RequestAccepted():
                return {"params": _redacted(event.params)}
            case ev.ContextAssembled():
                names = ("segments", "dropped", "summarised")
                return {name: _sources(getattr(event, name)) for name in names}
            case ev.ContextCompared():
                parts = {"changed": tuple(map(_redacted, event.changed)), "removed": _sources(event.removed)}
                return {"here": tuple(map(_mark, event.here))} | parts
            case ev.PromptTokenized():
                num_ids = len(event.ids)
                return {"ids": tuple(range(num_ids)), "pieces": (MARK.encode(),) * len(event.pieces)}
            case ev.GenerationFinished():
                return {"message": _notice(event.message)}
            case ev.GenerationForked():
                pieces = tuple(map(_mark, event.pieces))
                text = b"".join(pieces).decode() if event.text else ""
                return {"ids": tuple(range(len(event.ids))), "pieces": pieces, "text": text}
            case ev.TokenSampled():
                return _token(event)
            case ev.TokenProposed():
                return {"token": _redacted(event.token, **_token(event.token))}
            case ev.DraftVerified():
                return {"ids": tuple(range(len(event.ids))), "pieces": (MARK.encode(),) * len(event.pieces)}
            case ev.TextReleased() | ev.ThinkingReleased():
                return {"text": self._marks(event)}
            case ev.ToolCalled():
                return {"arguments": "{}"}
        return {}

    def _marks(self, event: ev.TextReleased | ev.ThinkingReleased) -> str:
        """One mark for each token with bytes that was released with the text; a notice where no token is recorded."""
        has_bytes = self._has_bytes.get(event.generation)
        if has_bytes is None:
            return _notice(event.text)
        before = self._num_released.get(event.generation, 0)
        self._num_released[event.generation] = after = max(before, event.num_tokens)
        return MARK * sum(has_bytes[before:after])


def _sources(parts: tuple[ev.Segment, ...] | tuple[ev.Dropped, ...]) -> tuple[Any, ...]:
    return tuple(_redacted(part, source=part.kind, text=_notice(part.text)) for part in parts)


def _token(token: ev.TokenSampled) -> dict[str, Any]:
    """Replacements in a token. Candidates keep their order, so that probabilities stay in place; ids become places."""
    pieces = dict(zip(token.candidate_ids, token.candidate_pieces, strict=True)) | {token.id: token.piece}
    place_of = {each: place + (0 if pieces[each] else _SPECIAL_IDS) for place, each in enumerate(pieces)}
    return {
        "id": place_of[token.id],
        "piece": _mark(token.piece),
        "candidate_ids": tuple(place_of[each] for each in token.candidate_ids),
        "candidate_pieces": tuple(_mark(pieces[each]) for each in token.candidate_ids),
        "processors": token.processors and tuple(_effect(each, place_of) for each in token.processors),
    }


def _effect(effect: ev.ProcessorEffect, place_of: dict[int, int]) -> ev.ProcessorEffect:
    masked: ev.ProcessorEffect = _redacted(
        effect, masked=tuple(place_of[each] for each in effect.masked if each in place_of)
    )
    return masked


def _mark(piece: bytes) -> bytes:
    return MARK.encode() if piece else b""


def _notice(text: str) -> str:
    return TEXT if text else ""


def _redacted(value: Any, **replaced: Any) -> Any:
    kind: type[msgspec.Struct] = type(value)
    left_in = {name: _inner(getattr(value, name)) for name in _names(kind)}
    return kind(**_notices(kind) | left_in | replaced)


@cache
def _names(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    if kind is SamplingParams:
        return tuple(_UNREDACTED_OF_PARAMS.split())
    if kind is Usage:
        return tuple(_UNREDACTED_OF_USAGE.split())
    if kind is CacheMark:
        return CacheMark.__struct_fields__
    assert issubclass(kind, ev.Event | ev.Value) and kind.unredacted is not None, kind
    names = tuple(kind.unredacted.split())
    if issubclass(kind, ev.GenerationEvent):
        return ("at", "generation", *names)
    return ("at", *names) if issubclass(kind, ev.Event) else names


@cache
def _notices(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Notices for required texts."""
    return {field.name: TEXT for field in msgspec.structs.fields(kind) if field.type is str and field.required}


def _inner(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _redacted(value)
    if isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct):
        return tuple(map(_redacted, value))
    return value
