"""Packs messages into a prompt that fits. Plain values in and out: knows nothing of databases or requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from inference.protocol.events import ContextAssembled, Dropped, PromptTokenized, Segment, SegmentKind
from inference.protocol.request import KeptTTL
from inference.tokenization.chat_template import ChatMessage, ChatTemplate, Prompt, plain_prompt
from inference.tokenization.tokenizer import Tokenizer

_EXCERPT_CHARS = 200


@dataclass(frozen=True)
class SourceMessage:
    """A message, or a part of one, and where it came from, e.g. `message:msg_…`."""

    role: str
    content: str
    source: str
    is_continued: bool = False
    """True: it is the next part of the message before."""
    kind: SegmentKind | None = None
    """Its kind where its maker knows it; None: its place decides."""
    breakpoint: KeptTTL | None = None
    """The client wants the prompt up to its end kept in the cache for this time."""


@dataclass(frozen=True)
class Assembled:
    """A prompt that fits, and the messages that were dropped from it."""

    prompt: Prompt
    window: int
    reserved_output: int
    segments: tuple[Segment, ...]
    dropped: tuple[Dropped, ...]


@dataclass(frozen=True)
class Round:
    """A generation that is over, and whose answer the next prompt repeats."""

    context: ContextAssembled
    prompt: PromptTokenized
    answer: SourceMessage
    answer_ids: tuple[int, ...]
    """The answer's tokens, without the control token that ended it: the template writes that."""


class ContextTooLarge(Exception):
    """The new message alone does not fit; the exception's text has the figures."""


class Assembler:
    """Packs system prompt, history and the new message into one model's window."""

    def __init__(self, template: ChatTemplate, tokenizer: Tokenizer, window: int) -> None:
        self._template = template
        self._tokenizer = tokenizer
        self._window = window

    def assemble(self, messages: Sequence[SourceMessage], max_tokens: int, may_drop: bool = True) -> Assembled:
        """Return the prompt. Oldest turns are dropped first; the system prompt and the last message never are.

        may_drop: False for a client that keeps the history itself, and is told that it does not fit.

        A quarter of the window, or max_tokens if less, is kept free for the answer, where messages may be dropped for
        it. Raises ContextTooLarge, TemplateError, ValueError (lone surrogates).
        """
        if not may_drop:
            prompt = self._render(messages)
            return self._given(prompt, messages, max_tokens)
        reserved = min(max_tokens, self._window // 4)
        kept, dropped = list(messages), list[SourceMessage]()
        prompt = self._render(kept)
        while len(prompt.ids) > self._window - reserved:
            turn = self._oldest_turns(kept, len(prompt.ids) - (self._window - reserved))
            if not turn:
                raise self._too_large(kept, reserved)
            dropped += turn
            kept = [message for message in kept if message not in turn]
            prompt = self._render(kept)
        return Assembled(
            prompt=prompt,
            window=self._window,
            reserved_output=reserved,
            segments=tuple(_segments(prompt, kept)),
            dropped=tuple(self._drop(message) for message in dropped),
        )

    def whole(self, messages: Sequence[SourceMessage]) -> Assembled:
        """Return the prompt of all messages, of whatever size, for a reader and not for the model.

        Raises TemplateError, ValueError (lone surrogates).
        """
        return self._unbounded(self._render(messages), messages)

    def whole_plain(self, text: SourceMessage, ids: Sequence[int]) -> Assembled:
        """The same for one text without the template. ids: as in `plain`."""
        return self._unbounded(plain_prompt(self._tokenizer, text.content, ids), [text])

    def _unbounded(self, prompt: Prompt, messages: Sequence[SourceMessage]) -> Assembled:
        return Assembled(prompt, self._window, 0, tuple(_segments(prompt, messages)), dropped=())

    def num_tokens(self, messages: Sequence[SourceMessage]) -> int:
        """Return the length of the prompt, of whatever size. Raises TemplateError, ValueError (lone surrogates)."""
        return self._template.num_tokens(_marked(messages))

    def plain(self, text: SourceMessage, ids: Sequence[int], max_tokens: int) -> Assembled:
        """Return one text as the whole prompt, without the template. ids: its tokens; empty: they are made here.

        Raises ContextTooLarge, ValueError (lone surrogates).
        """
        return self._given(plain_prompt(self._tokenizer, text.content, ids), [text], max_tokens)

    def _given(self, prompt: Prompt, messages: Sequence[SourceMessage], max_tokens: int) -> Assembled:
        """A client's own prompt leaves the answer what it leaves: one token at least. Raises ContextTooLarge."""
        num_left = self._window - len(prompt.ids)
        if num_left < min(max_tokens, 1):
            raise self._all_too_large(len(prompt.ids))
        reserved = min(max_tokens, self._window // 4, num_left)
        return Assembled(prompt, self._window, reserved, tuple(_segments(prompt, messages)), dropped=())

    def restore(self, context: ContextAssembled, prompt: PromptTokenized, max_tokens: int) -> Assembled:
        """Return a saved prompt, id by id, without today's template. Raises ContextTooLarge."""
        if len(prompt.ids) >= self._window:
            message = f"The saved prompt has {len(prompt.ids):,} tokens; the model's window holds {self._window:,}."
            raise ContextTooLarge(message)
        return Assembled(
            prompt=Prompt(list(prompt.ids), list(prompt.special), [], prompt.lossy_bytes, encoding_us=0),
            window=self._window,
            reserved_output=min(max_tokens, self._window // 4, self._window - len(prompt.ids)),
            segments=context.segments,
            dropped=context.dropped,
        )

    def go_on(self, before: Round, following: Sequence[SourceMessage], max_tokens: int) -> Assembled:
        """Return a round's prompt and answer, token by token, and what follows them: the prefix cache has the first.

        Raises ContextTooLarge, TemplateError, ValueError (lone surrogates).
        """
        messages = [SourceMessage("user", "-", "template"), before.answer, *following]
        rendered = self._render(messages)
        first = next(place for place, segment in enumerate(rendered.segments) if segment.message == 1) + 1
        tail = rendered.segments[first].start
        start, end = len(before.prompt.ids), len(before.prompt.ids) + len(before.answer_ids)
        ids = [*before.prompt.ids, *before.answer_ids, *rendered.ids[tail:]]
        num_left = self._window - len(ids)
        if num_left < min(max_tokens, 1):
            raise self._all_too_large(len(ids))
        source, text = before.answer.source, before.answer.content
        answer = Segment(kind="history", role="assistant", start=start, end=end, source=source, text=text)
        told = (_moved(each, end - tail) for each in _segments(rendered, messages)[first:])
        special = (*before.prompt.special, *(place + end - tail for place in rendered.special if place >= tail))
        lossy_bytes = before.prompt.lossy_bytes + rendered.lossy_bytes
        return Assembled(
            prompt=Prompt(ids, list(special), [], lossy_bytes, rendered.encoding_us),
            window=self._window,
            reserved_output=min(max_tokens, self._window // 4, num_left),
            segments=(*before.context.segments, answer, *told),
            dropped=before.context.dropped,
        )

    def _render(self, messages: Sequence[SourceMessage]) -> Prompt:
        return self._template.render(_marked(messages))

    def _oldest_turns(self, messages: Sequence[SourceMessage], num_excess: int) -> list[SourceMessage]:
        """The fewest oldest whole turns (a user message and its answers) that free so many tokens."""
        turns: list[SourceMessage] = []
        num_freed = 0
        last = max(index for index, message in enumerate(messages) if index == 0 or not message.is_continued)
        history = [message for message in messages[:last] if message.role != "system"]
        for index, message in enumerate(history):
            if turns and message.role == "user" and not message.is_continued and num_freed >= num_excess:
                return turns
            turns.append(message)
            num_freed += len(self._tokenizer.encode(message.content))
            if index == len(history) - 1:
                return turns
        return turns

    def _too_large(self, messages: Sequence[SourceMessage], reserved: int) -> ContextTooLarge:
        num_tokens = len(self._tokenizer.encode(messages[-1].content))
        return ContextTooLarge(
            f"The message has {num_tokens:,} tokens; the model's window holds {self._window:,}, of which "
            f"{reserved:,} are kept for the answer and some for the system prompt. Shorten the message."
        )

    def _all_too_large(self, num_tokens: int) -> ContextTooLarge:
        return ContextTooLarge(
            f"The prompt has {num_tokens:,} tokens; the model's window holds {self._window:,} with the answer. "
            "Shorten the messages."
        )

    def _drop(self, message: SourceMessage) -> Dropped:
        return Dropped(
            kind="history",
            source=message.source,
            num_tokens=len(self._tokenizer.encode(message.content)),
            reason="the window is full; the oldest turns are left out first",
            text=message.content[:_EXCERPT_CHARS],
        )


def _moved(segment: Segment, by: int) -> Segment:
    return msgspec.structs.replace(segment, start=segment.start + by, end=segment.end + by)


def _marked(messages: Sequence[SourceMessage]) -> list[ChatMessage]:
    return [ChatMessage(each.role, each.content, each.is_continued) for each in messages]


def _segments(prompt: Prompt, messages: Sequence[SourceMessage]) -> list[Segment]:
    segments = []
    for segment in prompt.segments:
        message = None if segment.message is None else messages[segment.message]
        segments.append(
            Segment(
                kind="system" if segment.is_system else _kind(segment.message, message, messages),
                role="system" if segment.is_system else message.role if message else "",
                start=segment.start,
                end=segment.end,
                source=message.source if message else "template",
                text=segment.text,
                breakpoint=message.breakpoint if message else None,
            )
        )
    return segments


def _kind(index: int | None, message: SourceMessage | None, messages: Sequence[SourceMessage]) -> SegmentKind:
    if message is None or index is None:
        return "template"
    if message.kind is not None:
        return message.kind
    if message.role == "system":
        return "system"
    is_last = all(each.is_continued for each in messages[index + 1 :])
    return "user" if is_last else "history"
