"""Reads one request's events as the steps of its answer. Pure: events in, values out.

A family's projection turns these steps into its own chunks. So no family reads a log by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from inference.protocol.events import (
    AnyEvent,
    CacheLookedUp,
    CacheStored,
    ContextAssembled,
    GenerationFinished,
    PromptTokenized,
    RequestAccepted,
    RequestCancelled,
    RequestFailed,
    RequestFinished,
    TextReleased,
    TextWithheld,
    ThinkingEnded,
    ThinkingReleased,
    TokenSampled,
)
from inference.protocol.request import FinishReason, KeptTTL, SamplingParams, Usage
from inference.protocol.tool_calls import Splitter


@dataclass(frozen=True)
class Begun:
    """The prompt is known."""

    num_prompt_tokens: int


@dataclass(frozen=True)
class CacheKnown:
    """The engine has looked the prompt up in its prefix cache."""

    num_cached_tokens: int
    has_breakpoints: bool = False
    """The client wants parts of the prompt kept: what is not there yet will be written."""


@dataclass(frozen=True)
class CacheWritten:
    """Blocks of the prompt were written to the cache at the client's wish."""

    ttl: KeptTTL
    num_tokens: int


@dataclass(frozen=True)
class Text:
    """Text of the answer, with the tokens that it ends."""

    text: str
    tokens: tuple[TokenSampled, ...] = ()


@dataclass(frozen=True)
class Thought:
    """Text that the model thinks before its answer."""

    text: str


@dataclass(frozen=True)
class ThoughtOver:
    """The thinking has ended."""


@dataclass(frozen=True)
class CallBegun:
    """The model calls a tool."""

    index: int
    """Calls count from 0 through the answer."""
    name: str


@dataclass(frozen=True)
class Arguments:
    """A stretch of a call's arguments, which are JSON."""

    index: int
    text: str


@dataclass(frozen=True)
class Withheld:
    """The output guard stopped the rest of the answer."""

    message: str
    """For people, in place of the text."""


@dataclass(frozen=True)
class Ended:
    """The answer is complete."""

    finish_reason: FinishReason
    stop_text: str | None
    """The client's stop text that ended it; None: another reason did."""
    is_window_full: bool
    """It ended because the model's window was full, and not by `max_tokens`."""
    has_calls: bool
    usage: Usage
    is_cancelled: bool
    is_cache_known: bool = True
    """False: a server elsewhere does not report its cached tokens."""
    num_thinking_tokens: int = 0
    """Tokens of the output that the model thought before its answer."""


@dataclass(frozen=True)
class Failed:
    """There is no answer, or only the part that came."""

    code: str
    message: str


BLOCKED = Ended("content_filter", None, is_window_full=False, has_calls=False, usage=Usage(), is_cancelled=False)
"""The end of an answer whose prompt was blocked. It costs nothing."""

Step = (
    Begun | CacheKnown | CacheWritten | Thought | ThoughtOver | Text | CallBegun | Arguments | Withheld | Ended | Failed
)


class AnswerReader:
    """Folds the events of one request, in order."""

    def __init__(self) -> None:
        self._params = SamplingParams()
        self._window_room: int | None = None
        self._splitter: Splitter | None = None
        self._num_calls = 0
        self._block_size = 0
        self._pieces: list[bytes] = []
        self._waiting: list[TokenSampled] = []
        self._held: tuple[TokenSampled, ...] = ()
        """Tokens of text that may be the beginning of a call."""
        self._num_shown_bytes = 0
        self._num_released = 0
        self._num_thinking = 0
        self._is_cancelled = False
        self._is_cache_known = True

    def feed(self, events: Iterable[AnyEvent]) -> list[Step]:
        """Return the steps that the events tell of."""
        return [step for event in events for step in self._steps(event)]

    def _steps(self, event: AnyEvent) -> list[Step]:
        match event:
            case RequestAccepted(params=params):
                self._params = params
                self._splitter = None if params.tool_calls is None else Splitter()
            case ContextAssembled(window=window, num_prompt_tokens=num):
                self._window_room = window - num
            case PromptTokenized(ids=ids):
                return [Begun(len(ids))]
            case CacheLookedUp(num_cached_tokens=num, marks=marks, block_size=size):
                self._block_size = size
                return [CacheKnown(num, bool(marks))]
            case CacheStored(ttl=ttl, num_blocks=num) if ttl != "none":
                return [CacheWritten(ttl, num * self._block_size)]
            case TokenSampled():
                self._pieces.append(event.piece)
                self._waiting.append(event)
            case ThinkingReleased(text=text, num_tokens=num):
                self._take(num)
                self._num_thinking = num
                return [Thought(text)] if text else []
            case ThinkingEnded():
                return [ThoughtOver()]
            case TextReleased(text=text, num_tokens=num):
                return self._released(text, num)
            case TextWithheld(replacement=replacement):
                self._splitter = None
                return [Withheld(replacement)]
            case RequestCancelled():
                self._is_cancelled = True
            case GenerationFinished(is_cache_known=is_cache_known):
                self._is_cache_known = is_cache_known
            case RequestFinished(finish_reason=reason, usage=usage):
                return [*self._rest(), self._ended(reason, usage)]
            case RequestFailed(code=code, message=message):
                return [*self._rest(), Failed(code, message)]
        return []

    def _released(self, text: str, num_tokens: int) -> list[Step]:
        self._num_shown_bytes += len(text.encode())
        tokens = self._take(num_tokens)
        if self._splitter is None:
            return [Text(text, tokens)]
        return self._split(self._splitter, text, tokens)

    def _take(self, num_tokens: int) -> tuple[TokenSampled, ...]:
        """Return the tokens that are released now. num_tokens: of all that are released."""
        num_new = max(0, num_tokens - self._num_released)
        self._num_released = max(num_tokens, self._num_released)
        tokens, self._waiting = tuple(self._waiting[:num_new]), self._waiting[num_new:]
        return tokens

    def _split(self, splitter: Splitter, text: str, tokens: tuple[TokenSampled, ...]) -> list[Step]:
        steps: list[Step] = []
        tokens = (*self._held, *tokens)
        for piece in splitter.feed(text):
            if piece.kind == "text":
                steps.append(Text(piece.text, tokens))
                tokens = ()
            elif piece.kind == "name":
                tokens = ()
                steps.append(CallBegun(self._num_calls, piece.text))
                self._num_calls += 1
            else:
                steps.append(Arguments(self._num_calls - 1, piece.text))
        self._held = () if splitter.is_within_call else tokens
        return steps

    def _rest(self) -> list[Step]:
        return [Text(piece.text, self._held) for piece in self._splitter.end()] if self._splitter else []

    def _ended(self, reason: FinishReason, usage: Usage) -> Ended:
        room = self._window_room
        return Ended(
            finish_reason=reason,
            stop_text=self._stop_text() if reason == "stop" else None,
            is_window_full=reason == "length" and room is not None and room < self._params.max_tokens,
            has_calls=self._num_calls > 0,
            usage=usage,
            is_cancelled=self._is_cancelled,
            is_cache_known=self._is_cache_known,
            num_thinking_tokens=min(self._num_thinking, usage.output),
        )

    def _stop_text(self) -> str | None:
        """The stop text at the place where the shown text ends."""
        answer = b"".join(self._pieces[self._num_thinking :])
        answer = answer.lstrip() if self._num_thinking else answer  # white space after the thinking is not shown
        hidden = answer[self._num_shown_bytes :].decode(errors="replace")
        return next((text for text in self._params.stop if hidden.startswith(text)), None)
