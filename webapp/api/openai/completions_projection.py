"""Completions and their chunks as projections of the event log. Pure: steps in, structs out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from inference.protocol.events import AnyEvent, TokenSampled
from webapp.api.openai.chat_projection import LEAST_LOGPROB, Head, PromptDetails, Usage, candidates, usage_of
from webapp.surfaces.calls.answer import BLOCKED, AnswerReader, Begun, Ended, Failed, Step, Text

FinishReason = Literal["stop", "length", "content_filter"]


class Logprobs(msgspec.Struct):
    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]]
    text_offset: list[int]


class Choice(msgspec.Struct):
    """An answer, or a piece of one."""

    text: str
    index: int
    logprobs: Logprobs | None = None
    finish_reason: FinishReason | None = None


class Completion(msgspec.Struct):
    """A completion, or a chunk of one."""

    id: str
    created: int
    model: str
    choices: list[Choice]
    usage: Usage | msgspec.UnsetType | None = msgspec.UNSET
    object: str = "text_completion"
    system_fingerprint: str | None = None


@dataclass
class CompletionProjection:
    """One answer of a completion, event by event."""

    head: Head
    index: int
    echoed: str = ""
    """The prompt, where the client wants it before the answer."""
    reader: AnswerReader = field(default_factory=AnswerReader)
    ended: Ended | None = None
    failed: Failed | None = None
    num_chars: int = 0

    def feed(self, events: Iterable[AnyEvent]) -> list[Choice]:
        """Return the choices of the chunks that these events make."""
        return [choice for step in self.reader.feed(events) for choice in self._choices(step)]

    def _choices(self, step: Step) -> list[Choice]:
        match step:
            case Begun():
                return [Choice(self.echoed, self.index)] if self.echoed else []
            case Text(text, tokens):
                logprobs = self._logprobs(tokens)
                self.num_chars += len(text)
                return [Choice(text, self.index, logprobs)]
            case Ended():
                self.ended = step
                return [Choice("", self.index, finish_reason=_finish_reason(step))]
            case Failed(code="blocked"):
                self.ended = BLOCKED
                return [Choice("", self.index, finish_reason="content_filter")]
            case Failed():
                self.failed = step
        return []

    def _logprobs(self, tokens: Sequence[TokenSampled]) -> Logprobs | None:
        if self.head.num_top_logprobs is None:
            return None
        found = Logprobs([], [], [], [])
        place = self.num_chars
        for token in tokens:
            if not token.is_special:
                _add(found, token, self.head.num_top_logprobs, place)
                place += len(token.piece.decode(errors="ignore"))
        return found


def choice_of(projection: CompletionProjection, events: Sequence[AnyEvent]) -> Choice:
    """Return the whole answer: its chunks, put together."""
    whole = Choice("", projection.index)
    if projection.head.num_top_logprobs is not None:
        whole.logprobs = Logprobs([], [], [], [])
    for chunk in projection.feed(events):
        whole.text += chunk.text
        whole.finish_reason = chunk.finish_reason or whole.finish_reason
        if whole.logprobs is not None and chunk.logprobs is not None:
            for name in whole.logprobs.__struct_fields__:
                getattr(whole.logprobs, name).extend(getattr(chunk.logprobs, name))
    return whole


def usage_of_prompts(ended: Sequence[Ended], num_each: int) -> Usage:
    """Return the usage of several prompts with so many answers each."""
    found = [usage_of(ended[start : start + num_each]) for start in range(0, len(ended), num_each)]
    whole = usage_of([])
    for each in found:
        whole.prompt_tokens += each.prompt_tokens
        whole.completion_tokens += each.completion_tokens
        whole.total_tokens += each.total_tokens
    if not all(each.is_cache_known for each in ended):
        whole.prompt_tokens_details = PromptDetails()
        return whole
    whole.prompt_tokens_details = PromptDetails(
        sum(each.prompt_tokens_details.cached_tokens or 0 for each in found),
        sum(each.prompt_tokens_details.cache_write_tokens or 0 for each in found),
    )
    return whole


def _add(found: Logprobs, token: TokenSampled, num_top: int, place: int) -> None:
    own = LEAST_LOGPROB if token.logprob is None else token.logprob
    top = sorted(candidates(token), key=lambda each: -each.logprob)[:num_top]
    name = _name(token.piece)
    found.tokens.append(name)
    found.token_logprobs.append(own)
    found.top_logprobs.append(
        {_name(bytes(each.bytes or ())): each.logprob for each in top} | {_name(token.piece): own}
    )
    found.text_offset.append(place)


def _name(piece: bytes) -> str:
    """The token as text, or, as OpenAI writes a part of a character, its bytes."""
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in piece)


def _finish_reason(ended: Ended) -> FinishReason:
    return ended.finish_reason if ended.finish_reason in ("content_filter", "length") else "stop"
