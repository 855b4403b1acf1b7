"""The model's chat template, rendered so that every stretch of the prompt keeps its origin.

The template comes with the model file and is untrusted: it runs in a process of its own. Each message's content is
rendered as a placeholder, so that only the template can produce control tokens: text that spells one stays text.
Between two control tokens, template text and content are encoded together, as in the model's training. Knows nothing of
budgets.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile

from inference.protocol.thinking import Thinking, ThinkingTags
from inference.tokenization.gguf_metadata import Metadata
from inference.tokenization.template_process import MessagesRefused, TemplateError, TemplateProcess
from inference.tokenization.tokenizer import Tokenizer

_MAX_TEMPLATE_CHARS = 100_000


@dataclass(frozen=True)
class ChatMessage:
    """One message for the template, or a part of one."""

    role: str
    content: str
    is_continued: bool = False
    """True: its content follows that of the message before, within the same message."""


@dataclass(frozen=True)
class PromptSegment:
    """A stretch of the prompt; `message` is the index of the message it came from, None for the template's own text."""

    message: int | None
    start: int
    end: int
    text: str
    is_system: bool = False
    """The template's own system prompt, which it adds where there is no other."""


@dataclass(frozen=True)
class Prompt:
    """A tokenized prompt; the segments cover it in order without gaps."""

    ids: list[int]
    special: list[int]
    segments: list[PromptSegment]
    lossy_bytes: int
    encoding_us: int
    """Time spent in the tokenizer, as part of the rendering."""
    thinking: Thinking | None = None
    """The thinking with which the answer may begin; None: there is none."""


@dataclass(frozen=True)
class _Part:
    """A stretch of rendered text with one origin."""

    text: str
    message: int | None
    is_system: bool = False
    is_special: bool = False
    """It is the name of a control token."""


@dataclass(frozen=True)
class _Frame:
    """The template's text around a system message."""

    before: str
    after: str

    def within(self, text: str) -> str:
        """Return the template's own system prompt in a prompt's beginning; empty: there is none."""
        has_frame = text.startswith(self.before) and text.endswith(self.after)
        return text[len(self.before) : -len(self.after)] if has_frame and self.after else ""


class ChatTemplate:
    """Renders messages to a Prompt."""

    def __init__(self, metadata: Metadata, tokenizer: Tokenizer) -> None:
        """Raises TemplateError."""
        source = metadata.chat_template
        if source is None:
            raise TemplateError("the model file has no chat template; use an instruct model")
        if len(source) > _MAX_TEMPLATE_CHARS:
            raise TemplateError(f"the chat template has {len(source)} characters; at most {_MAX_TEMPLATE_CHARS}")
        self._template = TemplateProcess(source)
        self._tokenizer = tokenizer
        self._frames: dict[str, _Frame | None] = {}
        """Frames by the role of the first message after the system prompt."""
        names = sorted(tokenizer.special_ids, key=len, reverse=True)
        self._special = re.compile("(" + "|".join(re.escape(name) for name in names) + ")")

    def render(self, messages: Sequence[ChatMessage], may_think: bool = True) -> Prompt:
        """Return the prompt for the next assistant message. Raises TemplateError, ValueError (lone surrogates).

        A last message of the assistant is the beginning of that next message: the model goes on after it, and does
        not think. may_think: False asks the template for an answer without thinking, which not every template heeds.
        """
        parts = list(self._stretches(messages, may_think))
        return replace(self._encode(parts), thinking=self._thinking(parts))

    def num_tokens(self, messages: Sequence[ChatMessage], may_think: bool = True) -> int:
        """Return the length of that prompt. Other threads go on meanwhile, however long it is. Raises the same."""
        stretches = groupby(self._stretches(messages, may_think), key=lambda part: part.is_special)
        return sum(
            len(list(parts)) if is_special else self._tokenizer.num_tokens("".join(part.text for part in parts))
            for is_special, parts in stretches
        )

    def _thinking(self, parts: Sequence[_Part]) -> Thinking | None:
        """The thinking that may follow these parts: none after an answer's beginning or the tag at its end."""
        tags = self._tokenizer.thinking
        if tags is None or (parts and parts[-1].message is not None):
            return None
        written = _last_written(parts)
        if written.rstrip().endswith(tags.end):
            return None
        return Thinking(
            begin=tags.begin,
            end=tags.end,
            begin_ids=tags.begin_ids,
            end_ids=tags.end_ids,
            is_open=_is_open(tags, written),
        )

    def _stretches(self, messages: Sequence[ChatMessage], may_think: bool) -> Iterator[_Part]:
        """The parts of the prompt, with each control token as a part of its own."""
        first = _first_of_beginning(messages)
        may_think = may_think and first == len(messages)
        rendered = self._parts(messages[:first], may_think)
        beginning = list(self._split_special(self._with_own_system(rendered, messages[:first])))
        yield from beginning
        if first < len(messages):
            yield from self._closed(beginning)
        yield from (_Part(messages[at].content, at) for at in range(first, len(messages)))

    def _closed(self, parts: Sequence[_Part]) -> Iterator[_Part]:
        """The end of a thinking that the template began before an answer's beginning."""
        tags = self._tokenizer.thinking
        if tags is not None and _is_open(tags, _last_written(parts)):
            yield from self._split_special([_Part(f"{tags.end}\n\n", None)])

    def _split_special(self, parts: Sequence[_Part]) -> Iterator[_Part]:
        """Only the template's own text has control tokens."""
        for part in parts:
            if part.message is not None:
                yield part
                continue
            for text in filter(None, self._special.split(part.text)):
                yield _Part(text, None, part.is_system, text in self._tokenizer.special_ids)

    def _with_own_system(self, parts: list[_Part], messages: Sequence[ChatMessage]) -> list[_Part]:
        """Return the parts, with the template's own system prompt as a part of its own."""
        begins_itself = bool(messages) and bool(parts) and parts[0].message is None
        if not begins_itself or any(message.role == "system" for message in messages):
            return parts
        role = messages[0].role
        if role not in self._frames:
            self._frames[role] = self._system_frame(messages[0])
        frame = self._frames[role]
        if frame is None or not (own := frame.within(parts[0].text)):
            return parts
        return [_Part(frame.before, None), _Part(own, None, is_system=True), _Part(frame.after, None), *parts[1:]]

    def _system_frame(self, first: ChatMessage) -> _Frame | None:
        """Return the frame; None: the template takes no system message, or writes it into another one."""
        try:
            parts = self._parts([ChatMessage("system", "-"), first], may_think=True)
        except TemplateError:
            return None
        if [part.message for part in parts[:4]] != [None, 0, None, 1]:
            return None
        return _Frame(parts[0].text, parts[2].text)

    def _parts(self, messages: Sequence[ChatMessage], may_think: bool) -> list[_Part]:
        """Render the messages and split the text by origin. Raises TemplateError."""
        nonce = secrets.token_hex(8)
        marked: list[dict[str, str]] = []
        for index, message in enumerate(messages):
            if not message.is_continued or not marked:
                marked.append({"role": message.role, "content": ""})
            marked[-1]["content"] += f"\ue000{nonce}:{index}\ue000"
        switch = {} if self._tokenizer.thinking is None else {"enable_thinking": may_think}
        rendered = self._template.render(
            {
                **switch,
                "messages": marked,
                "add_generation_prompt": True,
                "bos_token": self._tokenizer.bos_text,
                "eos_token": self._tokenizer.eos_text,
            }
        )
        return _split(rendered, nonce, messages)

    def _encode(self, parts: Iterable[_Part]) -> Prompt:
        parts = list(parts)
        start = time.perf_counter_ns()
        builder = _PromptBuilder(self._tokenizer)
        for part in parts:
            if part.is_special:
                builder.add_special(part.text)
            else:
                builder.add_text(part)
        return builder.build(start)


def plain_prompt(tokenizer: Tokenizer, text: str, ids: Sequence[int] = ()) -> Prompt:
    """Return one text as a prompt without a template, after the beginning token where the model wants one.

    ids: the text's tokens, control tokens included, which stay as they are; empty: none are given. Raises ValueError
    (lone surrogates).
    """
    if not ids:
        start = time.perf_counter_ns()
        builder = _PromptBuilder(tokenizer)
        if tokenizer.begins_with_bos and tokenizer.bos_text in tokenizer.special_ids:
            builder.add_special(tokenizer.bos_text)
        builder.add_text(_Part(text, 0))
        return builder.build(start)
    special = [place for place, token in enumerate(ids) if tokenizer.is_special(token)]
    return Prompt(list(ids), special, [PromptSegment(0, 0, len(ids), text)], lossy_bytes=0, encoding_us=0)


class _PromptBuilder:
    """Collects runs of text between control tokens and encodes each run at once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._run: list[_Part] = []
        self._ids: list[int] = []
        self._special: list[int] = []
        self._lossy_bytes = 0
        self._owned: list[PromptSegment] = []

    def add_text(self, part: _Part) -> None:
        self._run.append(part)

    def add_special(self, name: str) -> None:
        self._flush()
        start = len(self._ids)
        self._special.append(start)
        self._ids.append(self._tokenizer.special_ids[name])
        self._own(PromptSegment(None, start, start + 1, name))

    def build(self, start_ns: int) -> Prompt:
        self._flush()
        encoding_us = (time.perf_counter_ns() - start_ns) // 1000
        return Prompt(self._ids, self._special, self._owned, self._lossy_bytes, encoding_us)

    def _flush(self) -> None:
        run, self._run = self._run, []
        text = "".join(part.text for part in run)
        encoding = self._tokenizer.encode_with_spans(text)
        self._lossy_bytes += len(text.encode()) - sum(end - start for start, end in encoding.spans)
        position, token, num_tokens = 0, 0, len(encoding.ids)
        base = len(self._ids)
        self._ids += encoding.ids
        for part in run:
            position += len(part.text.encode())
            first = token
            # A token belongs to the part in which its first byte lies.
            while token < num_tokens and encoding.spans[token][0] < position:
                token += 1
            self._own(PromptSegment(part.message, base + first, base + token, part.text, part.is_system))

    def _own(self, segment: PromptSegment) -> None:
        """Append a segment, joined to the one before where both are the template's own."""
        last = self._owned[-1] if self._owned else None
        is_alike = last is not None and last.is_system == segment.is_system
        if last is not None and is_alike and last.message is None and segment.message is None:
            joined = last.text + segment.text
            self._owned[-1] = PromptSegment(None, last.start, segment.end, joined, last.is_system)
        else:
            self._owned.append(segment)


def _last_written(parts: Sequence[_Part]) -> str:
    """The template's own text at the end of the parts."""
    own = takewhile(lambda part: part.message is None, reversed(parts))
    return "".join(reversed([part.text for part in own]))


def _is_open(tags: ThinkingTags, written: str) -> bool:
    return written.rstrip().endswith(tags.begin)


def _first_of_beginning(messages: Sequence[ChatMessage]) -> int:
    """Index of the first part of a last message of the assistant, with which the answer begins; their number: none."""
    first = len(messages)
    while first and messages[first - 1].role == "assistant":
        first -= 1
        if not messages[first].is_continued:
            return first
    return len(messages)


def _split(rendered: str, nonce: str, messages: Sequence[ChatMessage]) -> list[_Part]:
    pieces = re.split(f"\ue000{nonce}:(\\d+)\ue000", rendered)
    parts = []
    for index, piece in enumerate(pieces):
        if index % 2:
            parts.append(_Part(messages[int(piece)].content, int(piece)))
        elif piece:
            parts.append(_Part(piece, None))
    if len(pieces) // 2 != len(messages):
        raise MessagesRefused("the chat template leaves out or repeats one")
    return parts
