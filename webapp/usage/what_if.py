"""What a period would have cost under another condition: re-prices its recorded tokens, exactly or not at all.

Knows nothing of HTTP and of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from webapp.ground.gateway.structs import Result
from webapp.models.billing.bill import price_book
from webapp.models.billing.price_book import PriceBook
from webapp.models.billing.reprice import Repriced, Used, reprice, without_cache
from webapp.usage.period import Period
from webapp.usage.report import Amount
from webapp.usage.sums import Filter, sums
from webapp.usage.used_tokens import used_in

Question = Literal["no_cache", "prices_of", "factor", "ttl"]
MAX_FACTOR = 1000
_DECIMAL = re.compile(r"[0-9]{1,4}(?:[.,][0-9]{1,9})?")
_NO_REPLAY = (
    "Counts of tokens do not tell it. The page Re-price simulates another time to live over saved prompts, and says "
    "what it cannot know."
)


class BadCondition(Exception):
    """The condition names no price, or no usable factor."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Condition:
    """What is imagined to have been otherwise."""

    question: Question
    prices_of: str = ""
    """For `prices_of`: the model whose prices apply."""
    factor: str = "2"
    """For `factor`: a decimal number by which prices are multiplied."""
    of: str = ""
    """The one model whose prices change; empty: every model's."""


class WhatIf(Result):
    """A period's cost as it was, and as it would have been. Amounts of several currencies are never added up."""

    billed: list[Amount]
    """Cost that was posted at the time."""
    actual: list[Amount]
    """Cost of the same tokens by the price list as it stands today, with its days."""
    changed: list[Amount] | None
    """Cost under the condition; null: unknown."""
    num_requests: int
    """Requests that used tokens."""
    num_unpriced_actual: int
    """Requests without a price in the list."""
    num_unpriced: int
    """Requests that could not be priced under the condition. Their cost is in no amount."""
    unknown: str
    """The reason why the cost under the condition is unknown; else empty."""
    models: list[str]
    """Models with prices."""
    used_models: list[str]
    """Models of the period's requests."""


def what_if(period: Period, chosen: Filter, condition: Condition) -> WhatIf:
    """Return the answer. Raises BadCondition."""
    used, book = used_in(period, chosen), price_book()
    actual = reprice(used, book)
    changed = _changed(used, book, condition)
    return WhatIf(
        billed=_billed(period, chosen),
        actual=_amounts(actual.nano),
        changed=None if changed is None else _amounts(changed.nano),
        num_requests=sum(each.num_requests for each in used),
        num_unpriced_actual=actual.num_unpriced,
        num_unpriced=0 if changed is None else changed.num_unpriced,
        unknown=_NO_REPLAY if changed is None else "",
        models=book.models,
        used_models=sorted({each.model for each in used}),
    )


def _changed(used: list[Used], book: PriceBook, condition: Condition) -> Repriced | None:
    """None: unknown."""
    models = [condition.of] if condition.of else sorted({each.model for each in used} | set(book.models))
    if condition.question == "no_cache":
        return reprice(_without_cache(used, models), book)
    if condition.question == "prices_of":
        if condition.prices_of not in book.models:
            known = f"Choose one of {', '.join(book.models)}." if book.models else "Set prices first."
            raise BadCondition(f"There are no prices of {condition.prices_of!r}. {known}", "prices_of")
        return reprice(used, book.with_prices_of(condition.prices_of, models))
    if condition.question == "factor":
        return reprice(used, book.scaled(_factor(condition.factor), models))
    return None


def _without_cache(used: Iterable[Used], models: list[str]) -> Iterable[Used]:
    for each in used:
        yield from without_cache([each]) if each.model in models else [each]


def _factor(text: str) -> Fraction:
    if not _DECIMAL.fullmatch(text) or (factor := Fraction(text.replace(",", "."))) > MAX_FACTOR:
        message = f"factor must be a number from 0 to {MAX_FACTOR}, such as 2 or 0.5, not {text[:40]!r}."
        raise BadCondition(message, "factor")
    return factor


def _billed(period: Period, chosen: Filter) -> list[Amount]:
    rows = sums(period, chosen, ["currency"])
    return _amounts({row.keys[0]: row.totals.cost_nano for row in rows if row.keys[0]})


def _amounts(nano: Mapping[str, int]) -> list[Amount]:
    return [Amount(currency, amount) for currency, amount in sorted(nano.items())]
