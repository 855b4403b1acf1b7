"""A trace as OpenTelemetry spans, in the JSON encoding of OTLP. Pure: frames in, JSON out.

Attributes follow the semantic conventions for generative AI (`gen_ai.*`, in development); our own are `sightglass.*`.
The conventions make prompts and answers opt-in, so the spans have no text of either by default.
Values that the log lacks are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from inference.protocol.events import (
    BillPosted,
    CacheLookedUp,
    ContextAssembled,
    Frame,
    GenerationEvent,
    GenerationPreempted,
    GenerationStarted,
    PrefillAdvanced,
    RequestAccepted,
    RequestCancelled,
    RequestFailed,
    SafetyChecked,
    TextReleased,
    TextWithheld,
    TokenSampled,
)
from inference.protocol.request import SamplingParams, Usage
from webapp.requests.outcome import Outcome, fold
from webapp.traces.export.spans import Log, Span, kind, spans
from webapp.traces.file.archive import TraceFileError

PROVIDER = "sightglass"
_INTERNAL, _CLIENT = 1, 3
_ERROR = 2
_WHOLE = "request"
"""Key of the span of a whole request."""
_TRACE_ID_BYTES, _SPAN_ID_BYTES = 16, 8
_TELLING = (RequestCancelled, RequestFailed, GenerationPreempted, TextWithheld, CacheLookedUp)
"""Events of the log that become events of the whole request's span."""

_TOLD: dict[type[msgspec.Struct], tuple[str, ...]] = {
    PrefillAdvanced: ("start", "end", "num_sequences"),
    SafetyChecked: ("classifier", "version", "policy", "verdict", "buffered_us"),
    CacheLookedUp: ("num_cached_tokens", "saved_us", "num_timed_tokens"),
    TextWithheld: ("num_tokens", "category"),
    RequestFailed: ("stage", "code"),
    RequestCancelled: ("by",),
    GenerationPreempted: ("num_tokens", "num_blocks"),
}
"""Fields of an event that become attributes; none holds text of prompt or answer."""

Attributes = dict[str, Any]


def to_otlp(frames: Sequence[Frame], has_texts: bool = False, conversation: str | None = None) -> bytes:
    """Return the body of a `POST /v1/traces`. The same log gives the same ids: a second sending makes no second trace.

    has_texts: include the prompt's messages, the answer, the seed and the stop texts. conversation: its id, which the
    log lacks. Raises TraceFileError when the log lacks request.accepted, which holds name and time of the whole.
    """
    log = Log(frames)
    accepted = log.first(RequestAccepted)
    if accepted is None:
        raise TraceFileError("The trace does not hold request.accepted.")
    texts = _texts(log, accepted.params) if has_texts else {}
    found = _Spans(log, accepted, texts, conversation).all()
    scope = {"scope": {"name": "sightglass"}, "spans": found}
    resource = {"attributes": _attributes({"service.name": "sightglass"})}
    return msgspec.json.encode({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]})


class _Spans:
    """The spans of one request: one for the whole, with children for the work of its stages."""

    def __init__(self, log: Log, accepted: RequestAccepted, texts: Attributes, conversation: str | None) -> None:
        self._log = log
        self._accepted = accepted
        self._texts = texts
        self._conversation = conversation
        # An agent's spans are in the trace of the request that started it.
        self._trace_id = _hash(accepted.agent_of or accepted.request_id, _TRACE_ID_BYTES)

    def all(self) -> list[dict[str, Any]]:
        below = [span for span in spans(self._log) if span.end is not None and not isinstance(span.event, TokenSampled)]
        below += _decode(self._log)
        root = self._root(below)
        return [root, *(self._below(rank, span, root["spanId"]) for rank, span in enumerate(below))]

    def _root(self, below: list[Span]) -> dict[str, Any]:
        start = min(0, self._accepted.received_at, *(span.start for span in below))
        over = self._log.terminal or self._log.events[-1]
        known = _of_request(self._log, self._accepted) | self._texts
        known |= {"gen_ai.conversation.id": self._conversation}
        span = self._span(_WHOLE, f"chat {self._accepted.model}", start, over.at, _CLIENT, known)
        if self._accepted.agent_of is not None:
            span["parentSpanId"] = _span_id(self._accepted.agent_of, _WHOLE)
        span["events"] = [
            {"timeUnixNano": self._nano(event.at), "name": kind(event), "attributes": _attributes(_of_event(event))}
            for event in self._log.events
            if isinstance(event, _TELLING)
        ]
        if failure := _error(self._log):
            # The failure's message may quote the request, such as a grammar.
            span["status"] = {"code": _ERROR, "message": failure.message if self._texts else failure.code}
        return span

    def _below(self, rank: int, span: Span, parent: str) -> dict[str, Any]:
        end = span.start if span.end is None else span.end
        known: Attributes = {"sightglass.stage": span.stage} | (_of_event(span.event) if span.event else {})
        if isinstance(span.event, GenerationEvent):
            known["sightglass.generation"] = span.event.generation
        return self._span(f"{rank} {span.name}", span.name, span.start, end, _INTERNAL, known) | {
            "parentSpanId": parent
        }

    def _span(self, key: str, name: str, start: int, end: int, span_kind: int, known: Attributes) -> dict[str, Any]:
        return {
            "traceId": self._trace_id,
            "spanId": _span_id(self._accepted.request_id, key),
            "name": name,
            "kind": span_kind,
            "startTimeUnixNano": self._nano(start),
            "endTimeUnixNano": self._nano(max(start, end)),
            "attributes": _attributes(known),
        }

    def _nano(self, at: int) -> str:
        return str(max(0, self._accepted.accepted_unix_us + at) * 1000)


def _span_id(request_id: str, key: str) -> str:
    return _hash(f"{request_id} {key}", _SPAN_ID_BYTES)


def _decode(log: Log) -> Iterator[Span]:
    """One span for all tokens of a generation: a span for each would add nothing in a tracing system."""
    for generation in log.generations():
        if tokens := generation.all(TokenSampled):
            yield Span("sampling", "decode", tokens[0].at, tokens[-1].at, tokens[0])


def _error(log: Log) -> RequestFailed | None:
    """The request's failure; None also for a refusal, which is policy and not an error."""
    failure = log.first(RequestFailed)
    return None if failure is None or failure.code == "blocked" else failure


def _of_request(log: Log, accepted: RequestAccepted) -> Attributes:
    started, outcome = log.first(GenerationStarted), _outcome(log)
    known: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDER,
        "gen_ai.request.model": accepted.model,
        "gen_ai.request.stream": True if accepted.surface == "chat" else None,
        "gen_ai.response.id": accepted.request_id,
        "sightglass.surface": accepted.surface,
    } | _of_params(accepted.params)
    if started:
        known |= {
            "gen_ai.response.model": started.model,
            "sightglass.server": started.server,
            "sightglass.device": started.device,
            "sightglass.quantization": started.quantization,
        }
    if outcome.finish_reason is not None:
        known |= {"gen_ai.response.finish_reasons": [outcome.finish_reason]}
    if outcome.is_cache_known is not None:
        known |= _of_usage(outcome.usage, outcome.is_cache_known)
    if failure := _error(log):
        known |= {"error.type": failure.code}
    known |= _of_times(outcome, accepted)
    if bill := log.first(BillPosted):
        known |= {"sightglass.cost_nano": bill.total_nano, "sightglass.currency": bill.currency}
    return known


def _outcome(log: Log) -> Outcome:
    return fold([Frame(seq=1, events=tuple(log.events))])


def _of_times(outcome: Outcome, accepted: RequestAccepted) -> Attributes:
    """The latencies, without a person's time for choosing tokens. Only the page is known to take a stream."""
    between, first_us = outcome.between_tokens_us or {}, outcome.first_text_us
    is_streamed = accepted.surface == "chat" and first_us is not None
    return {
        "gen_ai.response.time_to_first_chunk": first_us / 10**6 if is_streamed and first_us is not None else None,
        "sightglass.time_to_first_token_us": outcome.first_token_us,
        "sightglass.time_to_first_text_us": outcome.first_text_us,
        "sightglass.time_per_output_token_us": between.get("mean"),
        "sightglass.time_between_tokens_median_us": between.get("median"),
        "sightglass.time_between_tokens_p95_us": between.get("p95"),
        "sightglass.time_between_tokens_worst_us": between.get("worst"),
    }


def _texts(log: Log, params: SamplingParams) -> Attributes:
    """Messages as the conventions' JSON, each with a role and parts, and the settings that quote or fix the answer.

    The prompt is the first generation's: the later ones' repeat it.
    """
    context = log.first(ContextAssembled)
    answer = "".join(event.text for event in log.all(TextReleased))
    said = [segment for segment in context.segments if segment.kind != "template"] if context else []
    output = _message("assistant", answer) | {"finish_reason": _outcome(log).finish_reason or "error"}
    known: Attributes = {
        "gen_ai.input.messages": [_message(each.role, each.text) for each in said if each.kind != "system"],
        "gen_ai.system_instructions": [_part(each.text) for each in said if each.kind == "system"],
        "gen_ai.output.messages": [output] if answer else [],
    }
    messages = {name: msgspec.json.encode(value).decode() for name, value in known.items() if value}
    settings = {"gen_ai.request.seed": params.seed, "gen_ai.request.stop_sequences": list(params.stop) or None}
    return messages | settings


def _message(role: str, text: str) -> Attributes:
    return {"role": role, "parts": [_part(text)]}


def _part(text: str) -> Attributes:
    return {"type": "text", "content": text}


def _of_params(params: SamplingParams) -> Attributes:
    """The params' attributes, without settings that are off."""
    return {
        "gen_ai.output.type": "json" if params.json_schema is not None else None,
        "gen_ai.request.temperature": float(params.temperature),
        "gen_ai.request.top_p": float(params.top_p),
        "gen_ai.request.top_k": float(params.top_k) if params.top_k else None,
        "gen_ai.request.frequency_penalty": float(params.frequency_penalty) or None,
        "gen_ai.request.presence_penalty": float(params.presence_penalty) or None,
        "gen_ai.request.max_tokens": params.max_tokens,
    }


def _of_usage(usage: Usage, is_cache_known: bool) -> Attributes:
    """The usage's attributes. By the conventions, the input includes the cached tokens."""
    written = usage.cache_write_5m + usage.cache_write_1h
    return {
        "gen_ai.usage.input_tokens": usage.uncached_input + usage.cache_read + written,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read if is_cache_known else None,
        "gen_ai.usage.cache_write.input_tokens": written if is_cache_known else None,
    }


def _of_event(event: msgspec.Struct) -> Attributes:
    return {f"sightglass.{name}": getattr(event, name) for name in _TOLD.get(type(event), ())}


def _attributes(known: Attributes) -> list[dict[str, Any]]:
    """Attributes in OTLP's form, without those whose value is None."""
    return [{"key": key, "value": _value(value)} for key, value in known.items() if value is not None]


def _value(value: object) -> dict[str, Any]:
    """OTLP's AnyValue; 64-bit integers are decimal text in JSON."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_value(each) for each in value]}}
    return {"stringValue": str(value)}


def _hash(text: str, num_bytes: int) -> str:
    return hashlib.sha256(text.encode()).digest()[:num_bytes].hex()
