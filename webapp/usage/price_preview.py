"""What the last days of a model would have cost with other prices, in all and by user. Knows nothing of HTTP."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, date, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Sum

from webapp.ground.gateway.structs import Result
from webapp.models.billing.price_book import PriceBook, PriceSet
from webapp.models.billing.price_changes import NewPrices
from webapp.models.billing.reprice import reprice
from webapp.usage.models import UsageRecord, UsageSum
from webapp.usage.period import Period
from webapp.usage.report import Amount
from webapp.usage.sums import Filter
from webapp.usage.used_tokens import used_by_user

NUM_DAYS = 30
_MAX_USERS = 5
_MANY_TIMES = 10


class UserChange(Result):
    """One user's cost with the prices of then and with the new ones."""

    user_id: int
    name: str
    billed_nano: int
    """As billed, in the currency of the new prices."""
    would_cost_nano: int


class PricePreview(Result):
    """Cost of a model's last days with new prices."""

    model: str
    first: date
    last: date
    """The last day, included. Days are those of UTC."""
    num_requests: int
    """Requests that used tokens."""
    num_unpriced: int
    """Such of them as had no price. Their part of `would_cost` stands against no bill."""
    billed: list[Amount]
    """As billed, by currency. Currencies are never added up."""
    would_cost: Amount
    users: list[UserChange]
    """Users whose cost changes most, the largest change first."""
    applies_until: date | None
    """Day from which the prices after these apply; null: none are set."""
    doubts: list[str]
    """Sentences on figures that are unusual, though allowed."""


def preview(new: NewPrices, book: PriceBook, today: date, names: Mapping[int, str]) -> PricePreview:
    """Return what the last days would have cost with these prices. Bills stay as they are."""
    period = Period(today - timedelta(days=NUM_DAYS - 1), today, ZoneInfo("UTC"))
    chosen = Filter(model=new.model)
    fixed = PriceBook(()).with_prices(new.model, new.unit_nano, new.currency)
    by_user = used_by_user(period, chosen)
    would = {user: reprice(used, fixed).nano.get(new.currency, 0) for user, used in by_user.items()}
    billed, num_unpriced = _billed(period, chosen)
    return PricePreview(
        model=new.model,
        first=period.first,
        last=period.last,
        num_requests=sum(each.num_requests for used in by_user.values() for each in used),
        num_unpriced=num_unpriced,
        billed=[Amount(currency, sum(users.values())) for currency, users in sorted(billed.items())],
        would_cost=Amount(new.currency, sum(would.values())),
        users=_changes(billed.get(new.currency, {}), would, names),
        applies_until=next((day for day, _ in book.history(new.model) if day > new.effective_from), None),
        doubts=_doubts(new, book.in_force(new.model, new.effective_from)),
    )


def last_priced_day(model: str) -> date | None:
    """The last day of UTC with a priced request of the model, by the sums."""
    rows = UsageSum.objects.filter(span="day", model=model).exclude(currency="").order_by("-start")
    found = rows.values_list("start", flat=True).first()
    return None if found is None else found.astimezone(UTC).date()


def _billed(period: Period, chosen: Filter) -> tuple[dict[str, dict[int, int]], int]:
    """What users were billed, by currency; and the number of requests without a price."""
    records = UsageRecord.objects.filter(
        accepted_at__gte=period.start, accepted_at__lt=period.end, **chosen.conditions()
    )
    billed = defaultdict[str, dict[int, int]](dict)
    priced = records.exclude(currency="").order_by().values("currency", "user_id").annotate(nano=Sum("cost_nano"))
    for row in priced:
        billed[row["currency"]][row["user_id"]] = row["nano"] or 0
    return billed, records.filter(currency="").exclude(price_version="").count()


def _changes(billed: Mapping[int, int], would: Mapping[int, int], names: Mapping[int, str]) -> list[UserChange]:
    found = [UserChange(user, names.get(user, str(user)), billed.get(user, 0), nano) for user, nano in would.items()]
    found.sort(key=lambda each: (-abs(each.would_cost_nano - each.billed_nano), each.name))
    return [each for each in found if each.would_cost_nano != each.billed_nano][:_MAX_USERS]


def _doubts(new: NewPrices, before: PriceSet | None) -> list[str]:
    nano, doubts = new.unit_nano, []
    if nano["cache_read"] > nano["uncached_input"]:
        doubts.append("Reading from the cache costs more than computing the input anew.")
    if nano["output"] < nano["uncached_input"]:
        doubts.append("Output costs less than input.")
    if not any(nano.values()):
        doubts.append("All tokens are free.")
    if before is None:
        return doubts
    if before.currency != new.currency:
        doubts.append(f"The currency changes from {before.currency} to {new.currency}.")
    elif any(_MANY_TIMES * old < nano[kind] for kind, old in before.unit_nano.items() if old):
        doubts.append(f"A price is more than {_MANY_TIMES} times the one before.")
    return doubts
