"""Adds up what requests were billed and what they would have cost, per model and key. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from inference.protocol.request import Usage
from webapp.ground.gateway.structs import Result
from webapp.models.billing.price_book import KINDS, PriceBook
from webapp.models.billing.reprice import amount
from webapp.usage.repricing.reading import Unknown
from webapp.usage.repricing.records import Group, Read
from webapp.usage.repricing.simulation import Scenario, Simulation


class Repriced(Result):
    """Requests of one model and key. Amounts are in billionths of the currency's unit."""

    model: str
    user_id: int
    key_id: int | None
    """null: they came with a sign-in, or the key was deleted."""
    currency: str
    """Amounts of several currencies are never added up."""
    num_requests: int
    """Requests that are compared."""
    billed_nano: int
    """As posted at the time."""
    least_nano: int
    """Where the cache had kept every block without a promise."""
    most_nano: int
    """Where it had kept only those that it really kept."""
    least: Usage
    """Tokens of `least_nano`."""
    most: Usage
    """Tokens of `most_nano`."""
    num_unknown: int
    """Requests that are not compared: no trace tells of their cache, or they have no price, or another currency."""
    unknown_nano: int
    """What they were billed, in this currency."""


@dataclass
class _Row:
    num_requests: int = 0
    billed_nano: int = 0
    least_nano: int = 0
    most_nano: int = 0
    least: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    most: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    num_unknown: int = 0
    unknown_nano: int = 0


class Comparison:
    """Takes requests one by one, so that a caller can show how far it is, and stop."""

    def __init__(self, scenario: Scenario, book: PriceBook) -> None:
        self._book = book
        self._kept, self._lost = (Simulation(scenario, keeps_unpromised) for keeps_unpromised in (True, False))
        self._rows: dict[tuple[Group, str], _Row] = {}

    def add(self, request: Read | Unknown) -> None:
        if isinstance(request, Read):
            self._compare(request, self._kept.read(request), self._lost.read(request))
        else:
            self._note_unknown(request)

    def _compare(self, read: Read, kept: Usage, lost: Usage) -> None:
        prices = self._book.in_force(read.group.model, read.day)
        if prices is None or read.currency not in ("", prices.currency):
            self._note_unknown(read)
            return
        if read.is_batch:
            prices = prices.for_batches()
        row = self._row(read.group, prices.currency)
        row.num_requests += 1
        row.billed_nano += read.billed_nano
        least, most = sorted((amount(each, prices), each is lost, each) for each in (kept, lost))
        row.least_nano += least[0]
        row.most_nano += most[0]
        for sums, usage in ((row.least, least[2]), (row.most, most[2])):
            for kind in KINDS:
                sums[kind] += getattr(usage, kind)

    def _note_unknown(self, request: Read | Unknown) -> None:
        row = self._row(request.group, request.currency)
        row.num_unknown += 1
        row.unknown_nano += request.billed_nano

    def _row(self, group: Group, currency: str) -> _Row:
        return self._rows.setdefault((group, currency), _Row())

    def result(self) -> list[Repriced]:
        """The dearest first."""
        found = [_repriced(group, currency, row) for (group, currency), row in self._rows.items()]
        return sorted(found, key=lambda each: (-each.billed_nano, each.model, each.user_id, each.key_id or 0))


def _repriced(group: Group, currency: str, row: _Row) -> Repriced:
    return Repriced(
        model=group.model,
        user_id=group.user_id,
        key_id=group.key_id,
        currency=currency,
        num_requests=row.num_requests,
        billed_nano=row.billed_nano,
        least_nano=row.least_nano,
        most_nano=row.most_nano,
        least=msgspec.convert(row.least, Usage),
        most=msgspec.convert(row.most, Usage),
        num_unknown=row.num_unknown,
        unknown_nano=row.unknown_nano,
    )
