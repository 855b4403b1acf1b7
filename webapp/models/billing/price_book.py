"""A price book: the prices of all models with the days from which they apply. Pure; knows nothing of the database.

Prices are integers in billionths of the currency's unit per token.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from typing import Literal

Kind = Literal["uncached_input", "cache_read", "cache_write_5m", "cache_write_1h", "output"]
KINDS: tuple[Kind, ...] = ("uncached_input", "cache_read", "cache_write_5m", "cache_write_1h", "output")


BATCH_SHARE = Fraction(1, 2)
"""The part of a price that a batch's request costs."""
_OF_BATCH = ", half price for a batch"
"""The end of such prices' version, for people."""


@dataclass(frozen=True)
class Entry:
    """The price of one token of one kind, from a day on."""

    model: str
    kind: str
    unit_price_nano: int
    currency: str
    effective_from: date


@dataclass(frozen=True)
class PriceSet:
    """A price for each kind of token of one model, all in one currency."""

    unit_nano: Mapping[str, int]
    currency: str
    version: str
    """The day of its last change, and whatever lowers the prices."""

    def for_batches(self) -> PriceSet:
        """The prices of a batch's requests, which wait until the engine is idle."""
        halves = {kind: _rounded(nano * BATCH_SHARE) for kind, nano in self.unit_nano.items()}
        return PriceSet(halves, self.currency, self.version + _OF_BATCH)


@dataclass(frozen=True)
class PriceBook:
    """Entries, at most one per model, kind and day. Each `with_…` and `scaled` returns a changed book."""

    entries: tuple[Entry, ...]
    _sets: Mapping[str, list[tuple[date, PriceSet | None]]] = field(init=False, repr=False, compare=False)
    """Per model the set that applies from each day of a change on; None: that set is not full."""

    def __post_init__(self) -> None:
        by_model = defaultdict[str, list[Entry]](list)
        for entry in sorted(self.entries, key=lambda each: each.effective_from):
            by_model[entry.model].append(entry)
        object.__setattr__(self, "_sets", {model: _sets_over_time(found) for model, found in by_model.items()})

    @property
    def models(self) -> list[str]:
        return sorted(self._sets)

    def in_force(self, model: str, day: date) -> PriceSet | None:
        """The model's prices on a day of UTC. None: a kind has no price that day, or the currencies differ."""
        changes = self._sets.get(model, [])
        place = bisect_right(changes, day, key=lambda change: change[0])
        return changes[place - 1][1] if place else None

    def history(self, model: str) -> list[tuple[date, PriceSet | None]]:
        """The model's prices with the day from which each applies, the earliest first."""
        return list(self._sets.get(model, []))

    def with_entries(self, new: Iterable[Entry]) -> PriceBook:
        """These entries beside the others, and in the place of those for the same model, kind and day."""
        merged = {(each.model, each.kind, each.effective_from): each for each in (*self.entries, *new)}
        return PriceBook(tuple(merged.values()))

    def with_prices(self, model: str, unit_nano: Mapping[str, int], currency: str) -> PriceBook:
        """The model has these prices on every day."""
        others = (each for each in self.entries if each.model != model)
        new = (Entry(model, kind, nano, currency, date.min) for kind, nano in unit_nano.items())
        return PriceBook((*others, *new))

    def with_prices_of(self, other: str, models: Iterable[str]) -> PriceBook:
        """Each of these models has the other model's prices, with their days."""
        given = set(models) - {other}
        kept = [each for each in self.entries if each.model not in given]
        lent = [each for each in kept if each.model == other]
        return PriceBook((*kept, *(replace(each, model=model) for model in sorted(given) for each in lent)))

    def scaled(self, factor: Fraction, models: Iterable[str] | None = None) -> PriceBook:
        """Prices of these models times a factor, rounded to whole billionths, halves up. None: of all models."""
        given = None if models is None else set(models)
        return PriceBook(
            tuple(
                replace(each, unit_price_nano=_rounded(each.unit_price_nano * factor))
                if given is None or each.model in given
                else each
                for each in self.entries
            )
        )


def _sets_over_time(entries: list[Entry]) -> list[tuple[date, PriceSet | None]]:
    """entries: of one model, in the order of their days."""
    known: dict[str, Entry] = {}
    sets: dict[date, PriceSet | None] = {}
    for entry in entries:
        known[entry.kind] = entry
        sets[entry.effective_from] = _full_set(known)
    return list(sets.items())


def _full_set(known: Mapping[str, Entry]) -> PriceSet | None:
    currencies = {entry.currency for entry in known.values()}
    if any(kind not in known for kind in KINDS) or len(currencies) != 1:
        return None
    version = max(entry.effective_from for entry in known.values()).isoformat()
    return PriceSet({kind: known[kind].unit_price_nano for kind in KINDS}, currencies.pop(), version)


def _rounded(amount: Fraction) -> int:
    return (2 * amount.numerator + amount.denominator) // (2 * amount.denominator)
