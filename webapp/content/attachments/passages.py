"""Cuts a text into overlapping passages at the borders of paragraphs, sentences and words. Pure.

Pieces are the smallest parts that stay whole. Passages are runs of pieces: each begins with the last pieces of the one
before, as far as they fit into the overlap.

    pieces     a a a b b c c c d e e
    passages   [a a a b b]
                     [b b c c c]
                             [c d e e]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

PASSAGE_TOKENS = 200
"""Tokens of the embedding model, which reads 256 at most. A passage of this length tells of one subject."""
OVERLAP_TOKENS = 20
_PIECE_CHARS = 150
"""A piece is cut there. The embedding model may take a long word for one token, which an answering model does not."""
_CHARS_OF_TOKEN = 6
"""A token has at most so many characters on average, by our count."""
_PIECE = re.compile(r"(?s:.+?)(?:\n\s*|[.!?…]+[\"'”’)\]]*\s+|[。！？]+\s*|\Z)")
_SPACE = re.compile(r"\s")

Count = Callable[[Sequence[str]], Sequence[int]]
"""Returns the number of tokens of each text."""


@dataclass(frozen=True)
class Span:
    """A stretch of a text, in characters."""

    start: int
    end: int


def cut(text: str, count: Count) -> list[Span]:
    """Return the passages: in order, without gaps, from the first character to the last."""
    pieces = list(_pieces(text))
    sizes = _sizes([text[piece.start : piece.end] for piece in pieces], count)
    found, first = list[Span](), 0
    while first < len(pieces):
        end = _end_of(sizes, first)
        found.append(Span(pieces[first].start, pieces[end - 1].end))
        if end == len(pieces):
            break
        first = _next_first(sizes, first, end)
    return found


def _sizes(texts: Sequence[str], count: Count) -> list[int]:
    counted = count(texts) if texts else ()
    return [max(num, -(-len(text) // _CHARS_OF_TOKEN)) for num, text in zip(counted, texts, strict=True)]


def _end_of(sizes: Sequence[int], first: int) -> int:
    """One past the last piece of the passage that begins with `first`; at least one piece."""
    end, total = first + 1, sizes[first]
    while end < len(sizes) and total + sizes[end] <= PASSAGE_TOKENS:
        total += sizes[end]
        end += 1
    return end


def _next_first(sizes: Sequence[int], first: int, end: int) -> int:
    """The first piece of the next passage, which holds more than this one does."""
    start, total = end, sizes[end]
    overlap = 0
    while start - 1 > first and overlap + sizes[start - 1] <= OVERLAP_TOKENS:
        if total + overlap + sizes[start - 1] > PASSAGE_TOKENS:
            break
        start -= 1
        overlap += sizes[start]
    return start


def _pieces(text: str) -> Iterator[Span]:
    """Sentences and lines with the spaces after them; a long one in parts, cut at spaces where it has some."""
    for match in _PIECE.finditer(text):
        start, end = match.span()
        while end - start > _PIECE_CHARS:
            middle = _border(text, start)
            yield Span(start, middle)
            start = middle
        yield Span(start, end)


def _border(text: str, start: int) -> int:
    """The end of the last word that fits into a piece; the piece's longest end where there is no space."""
    end = start + _PIECE_CHARS
    spaces = [match.end() for match in _SPACE.finditer(text, start + _PIECE_CHARS // 2, end)]
    return spaces[-1] if spaces else end
