"""Re-pricing under the book in force gives what was billed; currencies stay apart, and the unpriced is counted."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.db.models import Sum
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from inference.protocol.request import Usage
from webapp.models.billing.bill import UNPRICED, post_bill, price_book
from webapp.models.billing.models import LedgerEntry, Price
from webapp.models.billing.price_book import KINDS, Entry, PriceBook
from webapp.models.billing.reprice import Cost, Used, cost_of, reprice, without_cache

FIRST = date(2026, 10, 1)
MODELS = ("a", "b", "c")
CURRENCIES = ("USD", "EUR")

days = st.integers(0, 20).map(lambda number: FIRST + timedelta(days=number))
tokens = st.builds(Usage, **{kind: st.integers(0, 10**7) for kind in KINDS})
uses = st.lists(st.builds(Used, st.sampled_from(MODELS), days, tokens, st.just(1)), max_size=8)
entries = st.builds(
    Entry,
    st.sampled_from(MODELS[:2]),
    st.sampled_from(KINDS),
    st.integers(0, 10**6),
    st.sampled_from(CURRENCIES),
    days,
)


@st.composite
def full_sets(draw: st.DrawFn) -> list[Entry]:
    """All kinds of one model from one day on."""
    model, day, currency = draw(st.sampled_from(MODELS[:2])), draw(days), draw(st.sampled_from(CURRENCIES))
    return [Entry(model, kind, draw(st.integers(0, 10**6)), currency, day) for kind in KINDS]


@st.composite
def books(draw: st.DrawFn) -> PriceBook:
    """Full sets, some prices of single kinds, and with them days on which the currencies of a model differ."""
    found = [entry for each in draw(st.lists(full_sets(), max_size=4)) for entry in each]
    return PriceBook(()).with_entries([*found, *draw(st.lists(entries, max_size=3))])


class TestWhatWasBilled(TestCase):
    @given(books(), uses)
    def test_the_book_in_force_gives_what_was_billed(self, book: PriceBook, used: list[Used]) -> None:
        """Bills are posted one after the other, each on its day, from the prices in the database."""
        Price.objects.all().delete()
        Price.objects.bulk_create(
            Price(
                model=entry.model,
                kind=entry.kind,
                unit_price_nano=entry.unit_price_nano,
                currency=entry.currency,
                effective_from=entry.effective_from,
            )
            for entry in book.entries
        )
        alice, _ = User.objects.get_or_create(username="alice")
        for number, each in enumerate(used):
            noon = datetime(each.day.year, each.day.month, each.day.day, 12, tzinfo=UTC)
            with patch("django.utils.timezone.now", return_value=noon):
                post_bill(f"req_{number}", alice.pk, each.model, each.tokens)
        priced = LedgerEntry.objects.exclude(price_version=UNPRICED)
        billed = {
            row["currency"]: row["total"]
            for row in priced.order_by().values("currency").annotate(total=Sum("total_nano"))
        }
        found = reprice(used, price_book())
        assert {currency: nano for currency, nano in found.nano.items() if nano} == {
            currency: nano for currency, nano in billed.items() if nano
        }
        unpriced = LedgerEntry.objects.filter(price_version=UNPRICED)
        assert found.num_unpriced == sum(1 for entry in unpriced if _has_tokens(entry))
        assert found.unpriced.output == sum(entry.output for entry in unpriced)


def _has_tokens(entry: LedgerEntry) -> bool:
    return any(getattr(entry, kind) for kind in KINDS)


@given(books(), uses)
def test_no_request_and_no_token_is_lost(book: PriceBook, used: list[Used]) -> None:
    found = reprice(used, book)
    assert found.num_priced + found.num_unpriced == len(used)
    lost = [each for each in used if cost_of(each, book) is None]
    assert found.unpriced == Usage(**{kind: sum(getattr(each.tokens, kind) for each in lost) for kind in KINDS})


@given(books(), uses, uses)
def test_costs_of_parts_add_up(book: PriceBook, some: list[Used], others: list[Used]) -> None:
    parts, whole = [reprice(some, book).nano, reprice(others, book).nano], reprice(some + others, book).nano
    assert whole == {currency: sum(part.get(currency, 0) for part in parts) for currency in whole}


@given(books(), uses)
def test_a_book_scaled_by_a_whole_factor_scales_the_cost(book: PriceBook, used: list[Used]) -> None:
    before, after = reprice(used, book), reprice(used, book.scaled(Fraction(3)))
    assert after.nano == {currency: 3 * nano for currency, nano in before.nano.items()}
    assert after.num_unpriced == before.num_unpriced


@given(books(), uses)
def test_without_a_cache_the_same_tokens_are_read_anew(book: PriceBook, used: list[Used]) -> None:
    plain = list(without_cache(used))
    assert sum(_num_tokens(each.tokens) for each in plain) == sum(_num_tokens(each.tokens) for each in used)
    assert all(
        each.tokens.cache_read == each.tokens.cache_write_5m == each.tokens.cache_write_1h == 0 for each in plain
    )
    for before, after in zip(used, plain, strict=True):
        if prices := book.in_force(before.model, before.day):
            expected = after.tokens.uncached_input * prices.unit_nano["uncached_input"]
            expected += before.tokens.output * prices.unit_nano["output"]
            assert cost_of(after, book) == Cost(prices.currency, expected)


def _num_tokens(each: Usage) -> int:
    return sum(getattr(each, kind) for kind in KINDS)


@given(books(), uses)
def test_another_models_prices_cost_what_the_other_model_would(book: PriceBook, used: list[Used]) -> None:
    as_b = [Used("b", each.day, each.tokens, each.num_requests) for each in used]
    assert reprice(used, book.with_prices_of("b", ["a", "c"])) == reprice(as_b, book)


PRICES = {"uncached_input": 20, "cache_read": 2, "cache_write_5m": 25, "cache_write_1h": 40, "output": 80}


def _book(currency: str = "USD", day: date = FIRST) -> PriceBook:
    return PriceBook(tuple(Entry("a", kind, nano, currency, day) for kind, nano in PRICES.items()))


def test_fixed_prices_apply_on_every_day() -> None:
    used = [Used("a", FIRST - timedelta(days=9), Usage(output=2)), Used("a", FIRST, Usage(output=1))]
    assert reprice(used, _book()).num_unpriced == 1
    assert reprice(used, _book().with_prices("a", PRICES, "EUR")).nano == {"EUR": 240}


def test_a_change_of_price_applies_from_its_day_on() -> None:
    later = FIRST + timedelta(days=5)
    book = _book().with_entries([Entry("a", "output", 100, "USD", later)])
    assert [book.in_force("a", day) is None for day in (FIRST - timedelta(days=1), FIRST)] == [True, False]
    used = [Used("a", later - timedelta(days=1), Usage(output=1)), Used("a", later, Usage(output=1))]
    assert reprice(used, book).nano == {"USD": 180}
    assert book.in_force("a", later).version == later.isoformat()  # type: ignore[union-attr]


def test_prices_of_two_currencies_price_nothing() -> None:
    mixed = _book().with_entries([Entry("a", "output", 100, "EUR", FIRST)])
    assert reprice([Used("a", FIRST, Usage(output=1), 3)], mixed).num_unpriced == 3


@pytest.mark.parametrize(("factor", "nano"), [("1/2", 1), ("1/4", 1), ("1/5", 0), ("3/2", 3)])
def test_a_scaled_price_is_rounded_to_whole_billionths_halves_up(factor: str, nano: int) -> None:
    scaled = _book().scaled(Fraction(factor)).in_force("a", FIRST)
    assert scaled is not None
    assert scaled.unit_nano["cache_read"] == nano


def test_a_request_without_a_token_costs_nothing_and_is_not_unpriced() -> None:
    assert reprice([Used("unknown", FIRST, Usage())], _book()).num_unpriced == 0
