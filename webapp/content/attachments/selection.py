"""Chooses what a prompt contains of the files of a conversation. Knows nothing of HTTP and of logs.

All files together get a share of the model's window. A file that fits in its part of the share goes in whole. Long ones
share the rest: their passages go in by similarity to the message until it is full, in the files' own order.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from inference.protocol.events import AttachedFile, AttachmentSelected, ChosenPassage, LeftPassage
from inference.tokenization.tokenizer import Tokenizer
from webapp.content.attachments.embedding import MODEL, as_vectors, embedded_message
from webapp.content.attachments.models import Attachment, Passage
from webapp.ground.context.assemble import SourceMessage
from webapp.ground.context.documents import framed
from webapp.ground.gateway.refusal import Refusal

SHARE = 4
"""All files together get one part in so many of the window."""
_MOST_PINNED = (3, 4)
"""Share of the window that passages and files may have which the user pinned."""
_FRAME_TOKENS = 60
"""About the tokens of a file's frame and of the introduction."""
_LEAST_CHARS = 12
"""A text with more characters to a token than this is rare: one that is longer by it is not counted at all."""
_NUM_LEFT = 50


class FilesTooLong(Refusal):
    """The pinned passages do not fit; the exception's text has the figures."""

    code, field = "files_too_long", "pins"


@dataclass(frozen=True)
class Pins:
    """The user's own choice for one message."""

    passages: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Numbers of passages, by the file's id."""
    whole: frozenset[str] = frozenset()
    """Ids of files that go in whole."""


NO_PINS = Pins()


@dataclass(frozen=True)
class Selection:
    """The files' texts for a prompt, and the record of the choice; None: there is no file."""

    messages: tuple[SourceMessage, ...] = ()
    event: AttachmentSelected | None = None


@dataclass(frozen=True)
class _Candidate:
    """A passage that may go in."""

    passage: Passage
    text: str
    similarity: float
    is_pinned: bool


def select(
    files: Sequence[Attachment], message: str, tokenizer: Tokenizer, window: int, pins: Pins = NO_PINS
) -> Selection:
    """Choose for a message. Raises FilesTooLong, PolicyError, SafetyModelError."""
    if not files:
        return Selection()
    start_ns = time.perf_counter_ns()
    choice = _Choice(files, tokenizer, window, pins)
    return choice.made(message, start_ns)


class _Choice:
    """One choice."""

    def __init__(self, files: Sequence[Attachment], tokenizer: Tokenizer, window: int, pins: Pins) -> None:
        self._files, self._tokenizer, self._window, self._pins = files, tokenizer, window, pins
        self._budget = window // SHARE
        self._room = self._budget
        """Tokens of the budget that are free still."""
        self._whole: set[str] = set()
        self._chosen: dict[str, list[_Candidate]] = {each.pk: [] for each in files}
        self._left: dict[str, list[_Candidate]] = {each.pk: [] for each in files}

    def made(self, message: str, start_ns: int) -> Selection:
        self._take_whole()
        long = [each for each in self._files if each.pk not in self._whole]
        if long:
            self._take_passages(long, message)
        messages = tuple(self._message(index, each) for index, each in enumerate(self._files))
        sizes = [self._tokenizer.num_tokens(each.content) for each in messages]
        self._check(sum(sizes))
        event = AttachmentSelected(
            at=0,
            model=MODEL if long else "",
            budget=self._budget,
            num_tokens=sum(sizes),
            files=tuple(self._told(each, size) for each, size in zip(self._files, sizes, strict=True)),
            duration_us=(time.perf_counter_ns() - start_ns) // 1000,
        )
        return Selection(messages, event)

    def _take_whole(self) -> None:
        """Pinned files, then the shortest first: each that fits in its part of what is free."""
        self._whole |= {each.pk for each in self._files if each.pk in self._pins.whole}
        self._room -= sum(self._size(each) for each in self._files if each.pk in self._whole)
        others = [each for each in self._files if each.pk not in self._whole]
        sizes = sorted((self._size(each), each.pk) for each in others if self._may_fit(each))
        num_others = len(others)
        for size, pk in sizes:
            if size > self._room // num_others:
                return
            self._whole.add(pk)
            self._room -= size
            num_others -= 1

    def _may_fit(self, found: Attachment) -> bool:
        return len(found.text) <= self._budget * _LEAST_CHARS

    def _size(self, found: Attachment) -> int:
        return self._tokenizer.num_tokens(found.text) + _FRAME_TOKENS

    def _take_passages(self, files: Sequence[Attachment], message: str) -> None:
        """The pinned ones, then the most similar of all files until the next does not fit."""
        self._room -= _FRAME_TOKENS * len(files)
        candidates = self._candidates(files, message)
        is_full = False
        for each in candidates:
            size = self._tokenizer.num_tokens(each.text)
            is_full = is_full or (not each.is_pinned and size > self._room)
            if is_full and not each.is_pinned:
                self._left[each.passage.attachment_id].append(each)
                continue
            self._chosen[each.passage.attachment_id].append(each)
            self._room -= size

    def _candidates(self, files: Sequence[Attachment], message: str) -> list[_Candidate]:
        """Pinned passages first, then by similarity."""
        rows = list(Passage.objects.filter(attachment__in=[each.pk for each in files]))
        similarities = (as_vectors([bytes(each.vector) for each in rows]) @ embedded_message(message)).tolist()
        texts = {each.pk: each.text for each in files}
        found = [
            _Candidate(row, texts[row.attachment_id][row.start : row.end], round(similarity, 4), self._is_pinned(row))
            for row, similarity in zip(rows, similarities, strict=True)
        ]
        return sorted(found, key=lambda each: (not each.is_pinned, -each.similarity))

    def _is_pinned(self, row: Passage) -> bool:
        return row.number in self._pins.passages.get(row.attachment_id, ())

    def _message(self, index: int, found: Attachment) -> SourceMessage:
        if found.pk in self._whole:
            text, source = framed(found.name, [found.text], "whole", index == 0), found.source
        else:
            chosen = sorted((each.passage for each in self._chosen[found.pk]), key=lambda each: each.number)
            numbers = in_words(each.number for each in chosen)
            extent = f"passages {numbers} of {found.num_passages}" if chosen else "none of it"
            text = framed(found.name, _stretches(found.text, chosen), extent, index == 0)
            source = f"{found.source}#{numbers.replace(' ', '')}"
        return SourceMessage("user", text, source, is_continued=index > 0, kind="attachment")

    def _check(self, num_tokens: int) -> None:
        most = self._window * _MOST_PINNED[0] // _MOST_PINNED[1]
        if num_tokens > most:
            raise FilesTooLong(
                f"The chosen files have {num_tokens:,} tokens; files may have {most:,} of the model's window of "
                f"{self._window:,}. Pin fewer passages, or let them be chosen by similarity."
            )

    def _told(self, found: Attachment, num_tokens: int) -> AttachedFile:
        chosen = sorted(self._chosen[found.pk], key=lambda each: each.passage.number)
        return AttachedFile(
            id=found.pk,
            name=found.name,
            media_type=found.media_type,
            num_tokens=num_tokens,
            num_passages=found.num_passages,
            is_whole=found.pk in self._whole,
            passages=tuple(
                ChosenPassage(
                    number=each.passage.number,
                    num_tokens=self._tokenizer.num_tokens(each.text),
                    similarity=each.similarity,
                    is_pinned=each.is_pinned,
                )
                for each in chosen
            ),
            left=tuple(
                LeftPassage(number=each.passage.number, similarity=each.similarity)
                for each in self._left[found.pk][:_NUM_LEFT]
            ),
        )


def _stretches(text: str, passages: Sequence[Passage]) -> list[str]:
    """The texts of the passages, those that touch or overlap as one."""
    joined: list[tuple[int, int]] = []
    for each in passages:
        if joined and each.start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], each.end)
        else:
            joined.append((each.start, each.end))
    return [text[start:end] for start, end in joined]


def in_words(numbers: Iterable[int]) -> str:
    """The numbers with runs joined: `3-5, 9`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)
