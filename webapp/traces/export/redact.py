"""A trace without what was said in it. Pure: frames in, frames out.

What is kept is named, field by field; everything else is left at its default or replaced, so that an event or a field
that is added later is left out until somebody has decided that it tells nothing. Kept are times, counts, structure and
probabilities. Texts become a notice, tokens a mark of one width, and ids of tokens their places, which say nothing
about which token stood there. What remains is still a fingerprint: see docs/decisions/0016.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from inference.protocol import events as ev
from inference.protocol.request import SamplingParams, Usage

TEXT = "[redacted]"
MARK = "\u25ae "
"""Stands for each token that has bytes, in the answer's text and among the candidates; the space lets lines break."""
_SPECIAL_IDS = 100_000
"""Where the places of control tokens begin, which have no bytes."""

_KEPT: dict[type[Any], str] = {
    ev.RequestAccepted: "at request_id surface model accepted_unix_us client tls_version http_version received_at",
    ev.RequestCancelled: "at by",
    ev.RequestFailed: "at stage code",
    ev.RequestFinished: "at finish_reason usage",
    ev.RequestObserved: "at client",
    ev.GatewayChecked: "at limits duration_us",
    ev.GatewayRefused: "at limit",
    ev.SafetyChecked: "at layer classifier version policy scores verdict start end duration_us held_us",
    ev.Segment: "kind role start end",
    ev.Dropped: "kind num_tokens reason",
    ev.ContextAssembled: "at window reserved_output num_prompt_tokens duration_us",
    ev.ContextCompared: "at model num_prompt_tokens num_answer_tokens num_common_tokens is_number added",
    ev.SegmentChange: "index num_tokens",
    ev.PromptTokenized: "at tokenizer version special lossy_bytes duration_us",
    ev.GenerationQueued: "at attempt queue_depth",
    ev.GenerationStarted: "at attempt device model architecture quantization compute server queued_us cache_shape",
    ev.GenerationResumed: "at attempt num_tokens",
    ev.GenerationPreempted: "at num_tokens num_blocks",
    ev.GenerationFinished: "at finish_reason usage prefill_us decode_us is_cache_known",
    ev.GenerationForked: "at position",
    ev.CacheLookedUp: "at block_size hits num_cached_tokens saved_us num_timed_tokens ttl blocks num_owners "
    "eviction_ranks num_idle_blocks num_free_blocks absence",
    ev.CacheStored: "at num_blocks ttl indices blocks",
    ev.CacheEvicted: "at num_blocks blocks",
    ev.BatchComposed: "at decoding prefilling num_waiting",
    ev.PrefillAdvanced: "at start end total step_us num_sequences num_batched_tokens",
    ev.SamplerStage: "name num_candidates mass log_normalizer logits first",
    ev.TokenSampled: "at position is_special is_shown logprob rank entropy u low high log_normalizer candidate_logits "
    "step_us batch_size chosen_by",
    ev.TokenProposed: "at",
    ev.DraftVerified: "at position num_accepted source",
    ev.GrammarMasked: "at position num_allowed duration_us",
    ev.TextReleased: "at num_tokens",
    ev.TextWithheld: "at num_tokens category",
    ev.ToolCalled: "at source",
    ev.ToolFinished: "at is_error duration_us",
    ev.BillPosted: "at currency price_version lines total_nano",
    SamplingParams: "repetition_penalty frequency_penalty presence_penalty dry_multiplier dry_base dry_allowed_length "
    "dry_penalty_last_n temperature top_k top_p min_p typical_p max_tokens stop_on_repetition",
    Usage: "uncached_input cache_read cache_write_5m cache_write_1h output",
    ev.ClientTiming: "keydown_unix_us sent_unix_us responded_unix_us connected_unix_us first_frame_unix_us "
    "first_paint_unix_us last_frame_unix_us last_paint_unix_us clock_offset_us clock_offset_error_us dns_us "
    "tcp_us tls_us http_version server_timing",
    ev.ServerPhase: "name duration_us",
    ev.Limit: "name limit remaining reset_unix_us num_taken refill_per_s",
    ev.SafetyScore: "category score threshold verdict",
    ev.CacheShape: "num_layers num_heads num_kv_heads head_dim bytes_per_value block_size num_blocks",
    ev.BillLine: "kind num_tokens unit_price_nano amount_nano",
}

_KEPT_OF_SUMMARY = (
    "id status surface model created_at cost_nano currency finish_reason num_events duration_us first_token_us "
    "first_text_us is_imported fork_position num_kept"
)
_KEPT_OF_PARTS = {
    "usage": _KEPT[Usage],
    "error": "stage code",
    "safety": "verdict layers",
    "between_tokens_us": "mean median p95 worst",
}
"""Of the summary's parts, each an object or None."""


def redact(frames: Sequence[ev.Frame]) -> list[ev.Frame]:
    """Without events that are not known here; the others are numbered on."""
    redaction = _Redaction(frames)
    found: list[ev.Frame] = []
    seq = 1
    for frame in frames:
        events = tuple(redaction.event(event) for event in frame.events if type(event) in _KEPT)
        if events:
            found.append(ev.Frame(seq=seq, events=events))
            seq += len(events)
    return found


def redact_summary(summary: dict[str, Any]) -> dict[str, Any]:
    """RequestSummary without its texts, and without where else the request stands."""
    found = _named(summary, _KEPT_OF_SUMMARY) | {"title": "Redacted request"}
    for part, names in _KEPT_OF_PARTS.items():
        if part in summary:
            found[part] = summary[part] and _named(summary[part], names)
    if found.get("error"):
        found["error"]["message"] = TEXT
    return found


def _named(values: dict[str, Any], names: str) -> dict[str, Any]:
    return {name: values[name] for name in names.split() if name in values}


class _Redaction:
    """One trace's; knows which tokens have bytes, because the answer's text is marks of these."""

    def __init__(self, frames: Sequence[ev.Frame]) -> None:
        events = [event for frame in frames for event in frame.events]
        self._has_bytes = [bool(event.piece) for event in events if isinstance(event, ev.TokenSampled)]
        self._num_released = 0

    def event(self, event: ev.AnyEvent) -> ev.AnyEvent:
        kept: ev.AnyEvent = _kept(event, **self._replaced(event))
        return kept

    def _replaced(self, event: ev.AnyEvent) -> dict[str, Any]:
        """What stands for the fields that are not kept as they are."""
        match event:
            case ev.RequestAccepted():
                return {"params": _kept(event.params)}
            case ev.RequestFailed() | ev.GatewayRefused():
                extra = {} if isinstance(event, ev.RequestFailed) else {"principal": TEXT}
                return {"message": TEXT} | extra
            case ev.GatewayChecked():
                return {"principal": TEXT}
            case ev.ContextAssembled():
                return {"segments": _sources(event.segments), "dropped": _sources(event.dropped)}
            case ev.ContextCompared():
                parts = {"changed": tuple(map(_kept, event.changed)), "removed": _sources(event.removed)}
                return {"request_id": TEXT, "here": tuple(map(_mark, event.here))} | parts
            case ev.PromptTokenized():
                num_ids = len(event.ids)
                return {"ids": tuple(range(num_ids)), "pieces": (MARK.encode(),) * len(event.pieces)}
            case ev.GenerationStarted():
                return {"worker": TEXT}
            case ev.GenerationFinished():
                return {"message": _notice(event.message)}
            case ev.GenerationForked():
                pieces = tuple(map(_mark, event.pieces))
                places = {"from_request_id": TEXT, "ids": tuple(range(len(event.ids)))}
                return places | {"pieces": pieces, "text": b"".join(pieces).decode() if event.text else ""}
            case ev.TokenSampled():
                return _token(event)
            case ev.TokenProposed():
                return {"token": _kept(event.token, **_token(event.token))}
            case ev.DraftVerified():
                return {"ids": tuple(range(len(event.ids))), "pieces": (MARK.encode(),) * len(event.pieces)}
            case ev.TextReleased():
                return {"text": self._marks(event)}
            case ev.TextWithheld():
                return {"replacement": TEXT}
            case ev.ToolCalled():
                return {"call_id": TEXT, "name": TEXT, "arguments": "{}"}
            case ev.ToolFinished():
                return {"call_id": TEXT, "result": TEXT}
        return {}

    def _marks(self, event: ev.TextReleased) -> str:
        """One for each token that was released with it and has bytes; where none is recorded, a notice."""
        before, self._num_released = self._num_released, max(self._num_released, event.num_tokens)
        if not self._has_bytes:
            return _notice(event.text)
        return MARK * sum(self._has_bytes[before : self._num_released])


def _sources(parts: tuple[ev.Segment, ...] | tuple[ev.Dropped, ...]) -> tuple[Any, ...]:
    return tuple(_kept(part, source=part.kind, text=_notice(part.text)) for part in parts)


def _token(token: ev.TokenSampled) -> dict[str, Any]:
    """Candidates keep their order, so that probabilities stay where they were; ids are places in it."""
    pieces = dict(zip(token.candidate_ids, token.candidate_pieces, strict=True)) | {token.id: token.piece}
    place_of = {each: place + (0 if pieces[each] else _SPECIAL_IDS) for place, each in enumerate(pieces)}
    return {
        "id": place_of[token.id],
        "piece": _mark(token.piece),
        "candidate_ids": tuple(place_of[each] for each in token.candidate_ids),
        "candidate_pieces": tuple(_mark(pieces[each]) for each in token.candidate_ids),
        "stages": token.stages and tuple(_stage(stage, place_of) for stage in token.stages),
    }


def _stage(stage: ev.SamplerStage, place_of: dict[int, int]) -> ev.SamplerStage:
    masked: ev.SamplerStage = _kept(stage, masked=tuple(place_of[each] for each in stage.masked if each in place_of))
    return masked


def _mark(piece: bytes) -> bytes:
    return MARK.encode() if piece else b""


def _notice(text: str) -> str:
    return TEXT if text else ""


def _kept(value: Any, **replaced: Any) -> Any:
    kind = type(value)
    return kind(**{name: _inner(getattr(value, name)) for name in _KEPT[kind].split()} | replaced)


def _inner(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _kept(value)
    if isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct):
        return tuple(map(_kept, value))
    return value
