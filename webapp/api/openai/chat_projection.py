"""Chat completions and their chunks as projections of the event log. Pure: steps in, structs out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from inference.protocol.events import AnyEvent, TokenSampled
from inference.protocol.request import Usage as Tokens
from webapp.surfaces.calls.answer import BLOCKED, AnswerReader, Arguments, Begun, CallBegun, Ended, Failed, Step, Text

FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]
LEAST_LOGPROB = -9999.0
"""OpenAI's mark for a log-probability that is not known or has no finite value."""


class TopLogprob(msgspec.Struct):
    token: str
    logprob: float
    bytes: list[int] | None


class TokenLogprob(msgspec.Struct):
    token: str
    logprob: float
    bytes: list[int] | None
    top_logprobs: list[TopLogprob]


class Logprobs(msgspec.Struct):
    content: list[TokenLogprob] | None
    refusal: list[TokenLogprob] | None = None


class PromptDetails(msgspec.Struct, omit_defaults=True):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class CompletionDetails(msgspec.Struct):
    reasoning_tokens: int = 0
    accepted_prediction_tokens: int = 0
    rejected_prediction_tokens: int = 0


class Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails


class Function(msgspec.Struct):
    name: str
    arguments: str


class ToolCall(msgspec.Struct):
    id: str
    function: Function
    type: str = "function"


class Message(msgspec.Struct):
    content: str | None
    tool_calls: list[ToolCall] | msgspec.UnsetType = msgspec.UNSET
    refusal: str | None = None
    role: str = "assistant"
    annotations: list[Any] = []


class Choice(msgspec.Struct):
    index: int
    message: Message
    finish_reason: FinishReason
    logprobs: Logprobs | None = None


class ChatCompletion(msgspec.Struct):
    id: str
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    object: str = "chat.completion"
    service_tier: str = "default"
    system_fingerprint: str | None = None


class DeltaFunction(msgspec.Struct, omit_defaults=True):
    name: str | None = None
    arguments: str | None = None


class DeltaCall(msgspec.Struct):
    index: int
    function: DeltaFunction
    id: str | msgspec.UnsetType = msgspec.UNSET
    type: str | msgspec.UnsetType = msgspec.UNSET


class Delta(msgspec.Struct, omit_defaults=True):
    role: str | None = None
    content: str | None = None
    tool_calls: list[DeltaCall] | None = None


class ChunkChoice(msgspec.Struct):
    index: int
    delta: Delta
    finish_reason: FinishReason | None = None
    logprobs: Logprobs | None = None


class Chunk(msgspec.Struct):
    id: str
    created: int
    model: str
    choices: list[ChunkChoice]
    object: str = "chat.completion.chunk"
    service_tier: str = "default"
    usage: Usage | msgspec.UnsetType | None = msgspec.UNSET


@dataclass(frozen=True)
class Head:
    """What all chunks of an answer share."""

    id: str
    created: int
    """Unix seconds."""
    model: str
    num_top_logprobs: int | None = None
    """None: no log-probabilities."""


@dataclass
class ChoiceProjection:
    """One answer of a completion, event by event."""

    head: Head
    index: int
    call_id: str
    """Prefix of its calls' ids."""
    reader: AnswerReader = field(default_factory=AnswerReader)
    ended: Ended | None = None
    failed: Failed | None = None

    def feed(self, events: Iterable[AnyEvent]) -> list[ChunkChoice]:
        """Return the choices of the chunks that these events make."""
        return [choice for step in self.reader.feed(events) for choice in self._choices(step)]

    def _choices(self, step: Step) -> list[ChunkChoice]:
        match step:
            case Begun():
                return [ChunkChoice(self.index, Delta(role="assistant", content=""))]
            case Text(text, tokens):
                return [ChunkChoice(self.index, Delta(content=text), logprobs=logprobs_of(tokens, self.head))]
            case CallBegun(index, name):
                function = DeltaFunction(name=name, arguments="")
                call = DeltaCall(index, function, id=f"{self.call_id}_{index}", type="function")
                return [ChunkChoice(self.index, Delta(tool_calls=[call]))]
            case Arguments(index, text):
                return [ChunkChoice(self.index, Delta(tool_calls=[DeltaCall(index, DeltaFunction(arguments=text))]))]
            case Ended():
                self.ended = step
                return [ChunkChoice(self.index, Delta(), finish_reason=finish_reason(step))]
            case Failed(code="blocked"):
                self.ended = BLOCKED
                return [ChunkChoice(self.index, Delta(content=None), finish_reason="content_filter")]
            case Failed():
                self.failed = step
        return []


def choice_of(projection: ChoiceProjection, events: Sequence[AnyEvent]) -> Choice:
    """Return the whole answer: its chunks, put together."""
    texts: list[str] = []
    calls: dict[int, ToolCall] = {}
    found: list[TokenLogprob] = []
    reason: FinishReason = "stop"
    for chunk in projection.feed(events):
        texts += [chunk.delta.content] if chunk.delta.content else []
        found += (chunk.logprobs.content or []) if chunk.logprobs else []
        reason = chunk.finish_reason or reason
        for call in chunk.delta.tool_calls or []:
            _add(calls, call)
    message = Message("".join(texts) if texts or not calls else None)
    if calls:
        message.tool_calls = list(calls.values())
    logprobs = None if projection.head.num_top_logprobs is None else Logprobs(found)
    return Choice(projection.index, message, reason, logprobs)


def _add(calls: dict[int, ToolCall], delta: DeltaCall) -> None:
    if isinstance(delta.id, str):
        calls[delta.index] = ToolCall(delta.id, Function(delta.function.name or "", ""))
    else:
        calls[delta.index].function.arguments += delta.function.arguments or ""


def finish_reason(ended: Ended) -> FinishReason:
    """Return OpenAI's word for the end of an answer. An answer that repeats itself has stopped."""
    if ended.finish_reason == "content_filter":
        return "content_filter"
    if ended.finish_reason == "length":
        return "length"
    return "tool_calls" if ended.has_calls else "stop"


def usage_of(ended: Sequence[Ended]) -> Usage:
    """Return the usage of a call with several answers: one prompt, and the output of all.

    Figures of the cache are left out where a server elsewhere does not tell them.
    """
    prompt = max((_input(each.usage) for each in ended), default=0)
    output = sum(each.usage.output for each in ended)
    written = max((each.usage.cache_write_5m + each.usage.cache_write_1h for each in ended), default=0)
    read = min((each.usage.cache_read for each in ended), default=0)
    is_known = all(each.is_cache_known for each in ended)
    details = PromptDetails(read, written) if is_known else PromptDetails()
    reasoning = CompletionDetails(sum(each.num_thinking_tokens for each in ended))
    return Usage(prompt, output, prompt + output, details, reasoning)


def _input(usage: Tokens) -> int:
    return usage.uncached_input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h


def logprobs_of(tokens: Sequence[TokenSampled], head: Head) -> Logprobs | None:
    """Return the tokens' log-probabilities under the model's own distribution; None where none were asked for."""
    if head.num_top_logprobs is None:
        return None
    return Logprobs([_logprob(token, head.num_top_logprobs) for token in tokens if not token.is_special])


def _logprob(token: TokenSampled, num_top: int) -> TokenLogprob:
    top = sorted(candidates(token), key=lambda each: -each.logprob)[:num_top]
    own = LEAST_LOGPROB if token.logprob is None else token.logprob
    return TokenLogprob(_text(token.piece), own, list(token.piece), top)


def candidates(token: TokenSampled) -> Iterable[TopLogprob]:
    """The recorded candidates. Without a normaliser their logits are log-probabilities already."""
    normalizer = token.log_normalizer or 0.0
    for piece, logit in zip(token.candidate_pieces, token.candidate_logits, strict=True):
        logprob = logit - normalizer
        yield TopLogprob(_text(piece), logprob if math.isfinite(logprob) else LEAST_LOGPROB, list(piece))


def _text(piece: bytes) -> str:
    return piece.decode(errors="replace")
