"""Re-pricing: what recorded tokens cost under a price book. Pure: counts and a book in, exact integers out.

    book = price_book()                                # webapp.models.billing.bill: the book in force
    reprice(used, book)                                # what was billed
    reprice(without_cache(used), book)                 # caching off
    reprice(used, book.scaled(Fraction(2)))            # all prices doubled
    reprice(used, book.with_prices_of("large", ["small"]))

Knows nothing of the database, of traces and of requests. `webapp.usage.used_tokens` reads the counts of a period.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date

import msgspec

from inference.protocol.request import Usage
from webapp.models.billing.price_book import KINDS, PriceBook, PriceSet


@dataclass(frozen=True)
class Used:
    """Tokens of some requests to one model on one day.

    A bill takes the prices of the day of UTC on which it is posted. A request that crosses midnight is counted on the
    day of its arrival, so a change of prices on that midnight can part the two.
    """

    model: str
    day: date
    tokens: Usage
    num_requests: int = 1
    is_batch: bool = False
    """They answer lines of batches, at a lower price."""


@dataclass(frozen=True)
class Cost:
    """An amount in billionths of the currency's unit."""

    currency: str
    nano: int


@dataclass(frozen=True)
class Repriced:
    """Costs by currency, and apart from them all that had no price. Currencies are never added up."""

    nano: Mapping[str, int]
    """Billionths of each currency's unit."""
    num_priced: int
    num_unpriced: int
    """Requests that used tokens without a price. Their cost is unknown."""
    unpriced: Usage = field(default_factory=Usage)


def cost_of(used: Used, book: PriceBook) -> Cost | None:
    """The cost of these tokens. None: the model has no full set of prices that day."""
    found = book.in_force(used.model, used.day)
    if found is None:
        return None
    return Cost(found.currency, amount(used.tokens, found.for_batches() if used.is_batch else found))


def amount(tokens: Usage, prices: PriceSet) -> int:
    """The tokens' cost in billionths of the prices' currency."""
    counts: int = sum(getattr(tokens, kind) * prices.unit_nano[kind] for kind in KINDS)
    return counts


def reprice(used: Iterable[Used], book: PriceBook) -> Repriced:
    """Price all that was used. A request without a token costs nothing and counts as priced."""
    nano = defaultdict[str, int](int)
    num_priced, lost = 0, list[Used]()
    for each in used:
        if each.tokens == Usage():
            num_priced += each.num_requests
        elif (cost := cost_of(each, book)) is None:
            lost.append(each)
        else:
            nano[cost.currency] += cost.nano
            num_priced += each.num_requests
    return Repriced(dict(nano), num_priced, sum(each.num_requests for each in lost), _sum(lost))


def without_cache(used: Iterable[Used]) -> Iterator[Used]:
    """The same tokens as they are without a cache: all input is computed anew and nothing is written."""
    return (replace(each, tokens=_uncached(each.tokens)) for each in used)


def _uncached(tokens: Usage) -> Usage:
    num_input = tokens.uncached_input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h
    return Usage(uncached_input=num_input, output=tokens.output)


def _sum(used: Iterable[Used]) -> Usage:
    counts = [msgspec.structs.asdict(each.tokens) for each in used]
    return Usage(**{kind: sum(each[kind] for each in counts) for kind in KINDS})
