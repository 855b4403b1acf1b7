"""Undoes Unicode tricks before a check: each character is folded to what it looks like, and hidden text is decoded.

The text itself is never changed: a folded text knows for each of its characters where that stands in the original.
Knows nothing of classifiers.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from confusable_homoglyphs import confusables

from inference.protocol.events import Disguise, DisguiseKind

_TAGS = range(0xE0000, 0xE0080)
_TAG_LETTERS = range(0xE0020, 0xE007F)
"""Invisible twins of the ASCII characters."""
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_FLAGS = ("".join(chr(0xE0000 + ord(char)) for char in place) for place in ("gbeng", "gbsct", "gbwls"))
_FLAG = re.compile(f"\U0001f3f4(?:{'|'.join(_FLAGS)})\U000e007f")
"""The three flags that are written with tags: England, Scotland, Wales."""
_VARIATION = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_JOINERS = "\u200c\u200d"
"""Needed inside emoji and in Persian and Indic words: told of only beside a Latin letter."""
_WORD = re.compile(r"[^\W\d_]+")
_ORDER: tuple[DisguiseKind, ...] = ("homoglyph", "compatibility", "zero_width", "bidi", "tag")


@dataclass(frozen=True)
class Folded:
    """A text without its disguises."""

    text: str
    """The visible text, folded. Without disguises the original itself."""
    hidden: str
    """Text decoded from tag characters, which are invisible."""
    hidden_at: tuple[int, int]
    """Span of the tag characters in the original text."""
    disguises: tuple[Disguise, ...]
    places: Sequence[int]
    """For each character of `text`, its place in the original; one more entry for the end."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the original span of a span of the folded text, with all invisible characters inside it."""
        return self.places[start], self.places[end - 1] + 1


class Folding:
    """Folds texts; holds the table of characters that look like Latin letters."""

    def __init__(self) -> None:
        self._lookalikes = _lookalikes()

    def fold(self, text: str) -> Folded:
        if text.isascii():
            return Folded(text, "", (0, 0), (), range(len(text) + 1))
        found: Counter[DisguiseKind] = Counter()
        text = _FLAG.sub(lambda flag: "\ufe0f" * len(flag.group()), text)  # keeps all places
        chars, places = _visible(text, found)
        self._fold_lookalikes(chars, found)
        hidden, at = _hidden(text)
        disguises = tuple(Disguise(kind=kind, num=found[kind]) for kind in _ORDER if found[kind])
        return Folded("".join(chars), hidden, at, disguises, [*places, len(text)])

    def _fold_lookalikes(self, chars: list[str], found: Counter[DisguiseKind]) -> None:
        """Replace, in place, letters that look Latin in words that are to be read as Latin."""
        text = "".join(chars)
        words = list(_WORD.finditer(text))
        is_latin_text = 2 * sum(match.group().isascii() for match in words) > len(words)
        for match in words:
            if match.group().isascii() or not self._reads_as_latin(match.group(), is_latin_text):
                continue
            for at in range(match.start(), match.end()):
                if twin := self._lookalikes.get(chars[at]):
                    chars[at] = twin
                    found["homoglyph"] += 1

    def _reads_as_latin(self, word: str, is_latin_text: bool) -> bool:
        """A word with ASCII letters and lookalikes does; one of lookalikes alone does in a Latin text."""
        are_twins = [char in self._lookalikes for char in word]
        if any(char.isascii() for char in word):
            return any(are_twins)
        return is_latin_text and all(are_twins)


def _visible(text: str, found: Counter[DisguiseKind]) -> tuple[list[str], list[int]]:
    """Return the visible characters in their compatibility form, and their places; count the disguises."""
    chars: list[str] = []
    places: list[int] = []
    for at, char in enumerate(text):
        if char.isascii():
            chars.append(char)
            places.append(at)
            continue
        if _is_invisible(char):
            if kind := _told(text, at):
                found[kind] += 1
            continue
        folded = unicodedata.normalize("NFKC", char)
        found["compatibility"] += char.isalpha() and len(folded) == 1 and folded.isascii()
        chars += folded
        places += [at] * len(folded)
    return chars, places


def _is_invisible(char: str) -> bool:
    return unicodedata.category(char) == "Cf" or any(ord(char) in span for span in _VARIATION)


def _told(text: str, at: int) -> DisguiseKind | None:
    """The kind of an invisible character; None where an honest text has it."""
    char = text[at]
    if ord(char) in _TAGS:
        return "tag"
    if char in _BIDI:
        return "bidi"
    beside = text[max(0, at - 1) : at + 2]
    is_honest = char in _JOINERS or any(ord(char) in span for span in _VARIATION)
    return None if is_honest and not any(each.isascii() and each.isalnum() for each in beside) else "zero_width"


def _hidden(text: str) -> tuple[str, tuple[int, int]]:
    """Return the text that tag characters spell, and the span from the first to the last of them."""
    places = [at for at, char in enumerate(text) if ord(char) in _TAG_LETTERS]
    if not places:
        return "", (0, 0)
    spelled = (chr(ord(text[at]) - 0xE0000) for at in places)
    return "".join(spelled).strip(), (places[0], places[-1] + 1)


def _lookalikes() -> Mapping[str, str]:
    """The Latin letter or digit for each single character beyond ASCII that looks like it."""
    found: dict[str, str] = {}
    for char, twins in confusables.confusables_data.items():
        if len(char) == 1 and not char.isascii() and char.isalpha():
            latin = [twin["c"] for twin in twins if len(twin["c"]) == 1 and twin["c"].isascii() and twin["c"].isalpha()]
            if latin:
                found[char] = latin[0]
    return found
