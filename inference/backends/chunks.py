"""The chunks of a streamed completion as llama.cpp, vLLM and others send them. Knows nothing of connections.

Two forms of log-probabilities are read: `content` (OpenAI's chat form, to which llama.cpp adds token ids), and the
parallel lists of OpenAI's completions API (in which vLLM writes `token_id:<id>` for a token when asked to).
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

import msgspec

from inference.backends.errors import BackendError, detail

_MAX_LINE = 1 << 20
"""A chunk with twenty candidates takes two kilobytes; a line without end must not take all memory."""
_LOWEST_LOGPROB = -1e5
_ID_PREFIX = "token_id:"


class _Token(msgspec.Struct):
    token: str = ""
    id: int | None = None
    logprob: float | None = None


class _Entry(_Token):
    top_logprobs: list[_Token] = []


class _Logprobs(msgspec.Struct):
    content: list[_Entry] | None = None
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    top_logprobs: list[dict[str, float | None] | None] | None = None


class _Thoughts(msgspec.Struct):
    """What the model thinks, in the field of DeepSeek, llama.cpp and others, or in that of vLLM and OpenRouter."""

    reasoning_content: str | None = None
    reasoning: str | None = None


class _Delta(_Thoughts):
    content: str | None = None


class _Choice(_Thoughts):
    text: str = ""
    delta: _Delta | None = None
    """Of a chat completion, in place of the text."""
    logprobs: _Logprobs | None = None
    finish_reason: str | None = None

    @property
    def own_text(self) -> str:
        return self.text or (self.delta.content or "" if self.delta else "")


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None
    image_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None


class Progress(msgspec.Struct):
    """llama.cpp's progress through the prompt, in tokens."""

    total: int
    cache: int
    processed: int
    time_ms: int


class Timings(msgspec.Struct):
    """llama.cpp's own measurements of this request."""

    prompt_ms: float | None = None
    predicted_ms: float | None = None
    predicted_n: int | None = None
    """Tokens generated so far, including those not shown."""


class Chunk(msgspec.Struct):
    """The fields that are read from one chunk."""

    choices: list[_Choice] = []
    usage: _Usage | None = None
    system_fingerprint: str | None = None
    prompt_progress: Progress | None = None
    timings: Timings | None = None
    error: msgspec.Raw | None = None

    @property
    def finish_reason(self) -> str | None:
        return self.choices[0].finish_reason if self.choices else None

    @property
    def text(self) -> str:
        return self.choices[0].own_text if self.choices else ""

    @property
    def reasoning(self) -> str:
        """The text of thinking that the server tells apart from the answer."""
        first = self.choices[0] if self.choices else _Choice()
        told = first.delta or first
        return told.reasoning_content or told.reasoning or ""

    @property
    def num_completion(self) -> int | None:
        """The answer's tokens by the server's own count, once it tells it."""
        return self.usage.completion_tokens if self.usage else None

    @property
    def num_generated(self) -> int | None:
        """Tokens so far by the server's own count; None where it does not report one."""
        return self.timings.predicted_n if self.timings else None

    @property
    def num_cached(self) -> int | None:
        details = self.usage and self.usage.prompt_tokens_details
        return details.cached_tokens if details else None

    @property
    def num_prompt(self) -> int | None:
        """The prompt's tokens by the server's own count."""
        return self.usage.prompt_tokens if self.usage else None

    @property
    def num_image(self) -> int | None:
        """The pictures' share of them."""
        details = self.usage and self.usage.prompt_tokens_details
        return details.image_tokens if details else None


@dataclass(frozen=True)
class Candidate:
    """A token with its log-probability under the model's own distribution."""

    id: int
    logprob: float


@dataclass(frozen=True)
class Choice:
    """One chosen token and the model's most likely ones, most likely first, ties by id."""

    chosen: Candidate
    top: list[Candidate]


_decoder = msgspec.json.Decoder(Chunk)


def decode_chunk(data: bytes, key: str | None) -> Chunk:
    """Decode one chunk. Raises BackendError for what is no chunk, or tells of an error."""
    try:
        chunk = _decoder.decode(data)
    except msgspec.DecodeError as error:
        raise malformed(str(error)) from None
    if chunk.error is not None:
        said = detail(b'{"error":%s}' % bytes(chunk.error), key)
        raise BackendError("server_failed", f"The model's server failed in the middle: {said}. Send the message again.")
    return chunk


def malformed(what: str) -> BackendError:
    """what: never a part of the answer, as no check has seen that."""
    return BackendError("server_failed", f"The model's server sent an answer that Sightglass cannot read ({what}).")


async def payloads(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each server-sent event, up to [DONE]. Lines end with LF alone: U+0085 may stand within one."""
    rest = b""
    async for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > _MAX_LINE:
            raise malformed("a line without end")
        for line in lines:
            if line.startswith(b"data:"):
                data = line[5:].strip()
                if data == b"[DONE]":
                    return
                yield data


def choices(chunk: Chunk, find_id: Callable[[str], int | None]) -> Iterator[Choice]:
    """The tokens of a chunk. find_id gives the one token that has this text. Raises BackendError."""
    for choice in chunk.choices[:1]:
        entries = list(_entries(choice.logprobs)) if choice.logprobs else []
        if choice.own_text and not entries:
            raise malformed("text without log-probabilities; start the server so that it gives them")
        for entry in entries:
            yield _choice(entry, find_id)


def _entries(logprobs: _Logprobs) -> Iterator[_Entry]:
    if logprobs.content is not None:
        yield from logprobs.content
        return
    tokens, own, top = logprobs.tokens or [], logprobs.token_logprobs or [], logprobs.top_logprobs or []
    if not len(tokens) == len(own) == len(top):
        raise malformed("lists of log-probabilities of different lengths")
    for token, logprob, others in zip(tokens, own, top, strict=True):
        candidates = [_Token(token=text, logprob=value) for text, value in (others or {}).items()]
        yield _Entry(token=token, logprob=logprob, top_logprobs=candidates)


def _choice(entry: _Entry, find_id: Callable[[str], int | None]) -> Choice:
    chosen = _candidate(entry, find_id)
    if chosen is None:
        raise malformed("a token without an id or a log-probability")
    # A candidate without an id, or with no probability, counts among the remaining tokens.
    found = {c.id: c for each in entry.top_logprobs if (c := _candidate(each, find_id)) is not None}
    top = sorted(found.values(), key=lambda candidate: (-candidate.logprob, candidate.id))
    return Choice(chosen, top)


def _candidate(token: _Token, find_id: Callable[[str], int | None]) -> Candidate | None:
    number = token.id if token.id is not None else _id_of(token.token, find_id)
    if number is None or token.logprob is None or token.logprob <= _LOWEST_LOGPROB:
        return None
    if not math.isfinite(token.logprob) or token.logprob > 1e-3:
        raise malformed(f"a log-probability of {token.logprob}")
    return Candidate(number, min(token.logprob, 0.0))


def _id_of(text: str, find_id: Callable[[str], int | None]) -> int | None:
    if not text.startswith(_ID_PREFIX):
        return find_id(text)
    number = text.removeprefix(_ID_PREFIX)
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None
