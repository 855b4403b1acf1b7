"""Packs messages into a prompt that fits. Plain values in and out: knows nothing of databases or requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from inference.protocol.events import ContextAssembled, Dropped, PromptTokenized, Segment
from inference.tokenization.chat_template import ChatMessage, ChatTemplate, Prompt, plain_prompt
from inference.tokenization.tokenizer import Tokenizer
from webapp.ground.context.source import SourceMessage as SourceMessage
from webapp.ground.context.turns import new_text, turns_of, without

EXCERPT_CHARS = 200
_WINDOW_FULL = "the window is full; the oldest turns are left out first"


@dataclass(frozen=True)
class Assembled:
    """A prompt that fits, and the messages that were dropped from it."""

    prompt: Prompt
    window: int
    reserved_output: int
    segments: tuple[Segment, ...]
    dropped: tuple[Dropped, ...]
    num_dropped_turns: int = 0
    summarised: tuple[Dropped, ...] = ()
    """Messages in whose place the prompt has a summary."""


@dataclass(frozen=True)
class Round:
    """A generation that is over, and whose answer the next prompt repeats."""

    context: ContextAssembled
    prompt: PromptTokenized
    answer: SourceMessage
    answer_ids: tuple[int, ...]
    """The answer's tokens, without the control token that ended it: the template writes that."""


OnFull = Literal["drop", "keep", "fill"]
"""For a prompt that leaves too little for the answer. drop: leave out the oldest turns. keep: refuse it. fill: the
client keeps the history, and any room that it leaves is the answer's."""


class ContextTooLarge(Exception):
    """The new message alone does not fit; the exception's text has the figures."""


class Assembler:
    """Packs system prompt, history and the new message into one model's window."""

    def __init__(self, template: ChatTemplate, tokenizer: Tokenizer, window: int) -> None:
        self._template = template
        self._tokenizer = tokenizer
        self._window = window

    def assemble(
        self,
        messages: Sequence[SourceMessage],
        max_tokens: int,
        on_full: OnFull = "drop",
        may_think: bool = True,
    ) -> Assembled:
        """Return the prompt. Oldest whole turns are dropped first; what is pinned and the last message never are.

        A quarter of the window, or max_tokens if less, is kept free for the answer, except with `fill`. Raises
        ContextTooLarge, TemplateError, ValueError (lone surrogates).
        """
        prompt = self._render(messages, may_think)
        if on_full == "fill":
            return self._given(prompt, messages, max_tokens)
        room = self.room(max_tokens)
        kept, dropped, num_turns = list(messages), list[SourceMessage](), 0
        while len(prompt.ids) > room:
            if on_full == "keep" and turns_of(kept):
                raise self._not_dropped(len(prompt.ids), room)
            turns = self._oldest_turns(kept, len(prompt.ids) - room)
            if not turns:
                raise self._too_large(kept, self._window - room)
            num_turns += len(turns)
            dropped += (gone := [message for turn in turns for message in turn])
            kept = without(kept, gone)
            prompt = self._render(kept, may_think)
        return Assembled(
            prompt=prompt,
            window=self._window,
            reserved_output=self._window - room,
            segments=tuple(_segments(prompt, kept)),
            dropped=tuple(map(self.drop, dropped)),
            num_dropped_turns=num_turns,
        )

    def room(self, max_tokens: int) -> int:
        """The most tokens of a prompt that leaves the answer what is reserved for it."""
        return self._window - min(max_tokens, self._window // 4)

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

    def num_tokens(self, messages: Sequence[SourceMessage], may_think: bool = True) -> int:
        """Return the length of the prompt, of whatever size. Raises TemplateError, ValueError (lone surrogates)."""
        return self._template.num_tokens(_marked(messages), may_think)

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
            prompt=Prompt(
                list(prompt.ids), list(prompt.special), [], prompt.lossy_bytes, encoding_us=0, thinking=prompt.thinking
            ),
            window=self._window,
            reserved_output=min(max_tokens, self._window // 4, self._window - len(prompt.ids)),
            segments=context.segments,
            dropped=context.dropped,
            summarised=context.summarised,
        )

    def go_on(
        self, before: Round, following: Sequence[SourceMessage], max_tokens: int, may_think: bool = True
    ) -> Assembled:
        """Return a round's prompt and answer, token by token, and what follows them: the prefix cache has the first.

        Raises ContextTooLarge, TemplateError, ValueError (lone surrogates).
        """
        messages = [SourceMessage("user", "-", "template", "history"), before.answer, *following]
        rendered = self._render(messages, may_think)
        first = next(place for place, segment in enumerate(rendered.segments) if segment.message == 1) + 1
        tail = rendered.segments[first].start
        start, end = len(before.prompt.ids), len(before.prompt.ids) + len(before.answer_ids)
        ids = [*before.prompt.ids, *before.answer_ids, *rendered.ids[tail:]]
        num_left = self._window - len(ids)
        if num_left < min(max_tokens, 1):
            raise ContextTooLarge("The answer and its tools' results fill the window.")
        source, text = before.answer.source, before.answer.content
        answer = Segment(kind="history", role="assistant", start=start, end=end, source=source, text=text)
        told = (_moved(each, end - tail) for each in _segments(rendered, messages)[first:])
        special = (*before.prompt.special, *(place + end - tail for place in rendered.special if place >= tail))
        lossy_bytes = before.prompt.lossy_bytes + rendered.lossy_bytes
        return Assembled(
            prompt=Prompt(ids, list(special), [], lossy_bytes, rendered.encoding_us, rendered.thinking),
            window=self._window,
            reserved_output=min(max_tokens, self._window // 4, num_left),
            segments=(*before.context.segments, answer, *told),
            dropped=before.context.dropped,
            summarised=before.context.summarised,
        )

    def _render(self, messages: Sequence[SourceMessage], may_think: bool = True) -> Prompt:
        return self._template.render(_marked(messages), may_think)

    def _oldest_turns(self, messages: Sequence[SourceMessage], num_excess: int) -> list[list[SourceMessage]]:
        """The fewest oldest whole turns that free so many tokens; all that there are where these free fewer."""
        found: list[list[SourceMessage]] = []
        num_freed = 0
        for turn in turns_of(messages):
            if num_freed >= num_excess:
                break
            found.append(turn)
            num_freed += sum(map(self.num_content_tokens, turn))
        return found

    def num_content_tokens(self, message: SourceMessage) -> int:
        """The message's own tokens, without the template's."""
        return len(self._tokenizer.encode(message.content))

    def _not_dropped(self, num_tokens: int, room: int) -> ContextTooLarge:
        return ContextTooLarge(
            f"The prompt has {num_tokens:,} tokens; the model's window holds {self._window:,}, of which "
            f"{self._window - room:,} are kept for the answer. This conversation keeps all its turns. Compact it, go "
            "back to an earlier message, or let it drop or summarise old turns in Settings."
        )

    def _too_large(self, messages: Sequence[SourceMessage], reserved: int) -> ContextTooLarge:
        num_tokens = len(self._tokenizer.encode(new_text(messages)))
        return ContextTooLarge(
            f"The message has {num_tokens:,} tokens; the model's window holds {self._window:,}, of which "
            f"{reserved:,} are kept for the answer and some for the system prompt. Shorten the message."
        )

    def _all_too_large(self, num_tokens: int) -> ContextTooLarge:
        return ContextTooLarge(
            f"The prompt has {num_tokens:,} tokens; the model's window holds {self._window:,} with the answer. "
            "Shorten the messages."
        )

    def drop(self, message: SourceMessage, reason: str = _WINDOW_FULL) -> Dropped:
        """A message that the prompt leaves out."""
        return Dropped(
            kind=message.kind,
            source=message.source,
            num_tokens=self.num_content_tokens(message),
            reason=reason,
            text=message.content[:EXCERPT_CHARS],
        )


def _moved(segment: Segment, by: int) -> Segment:
    return msgspec.structs.replace(segment, start=segment.start + by, end=segment.end + by)


def _marked(messages: Sequence[SourceMessage]) -> list[ChatMessage]:
    before = (None, *messages)
    return [
        ChatMessage(each.role, each.content, each.is_continued or _goes_on(last, each))
        for last, each in zip(before, messages, strict=False)
    ]


def _goes_on(last: SourceMessage | None, message: SourceMessage) -> bool:
    """A file begins the user's message after it, whichever is left after turns were dropped."""
    return last is not None and last.kind == "attachment" and last.role == message.role


def _segments(prompt: Prompt, messages: Sequence[SourceMessage]) -> list[Segment]:
    segments = []
    for segment in prompt.segments:
        message = None if segment.message is None else messages[segment.message]
        segments.append(
            Segment(
                kind="system" if segment.is_system else message.kind if message else "template",
                role="system" if segment.is_system else message.role if message else "",
                start=segment.start,
                end=segment.end,
                source=message.source if message else "template",
                text=segment.text,
                breakpoint=message.breakpoint if message else None,
                image=message.image if message else None,
            )
        )
    return segments
