"""Operations on prices, for operators: list, preview, set and remove them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

from django.contrib.auth.models import User
from django.http import HttpRequest

from webapp.api.operators import checked_operator
from webapp.ground.gateway.errors import ApiError, all_of, not_found
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Query, Result
from webapp.models.billing import price_changes
from webapp.models.billing.bill import price_book
from webapp.models.billing.naming import model_names
from webapp.models.billing.price_book import KINDS, PriceBook, PriceSet
from webapp.models.billing.price_changes import BadPrices, NewPrices
from webapp.models.registry.offered import enabled, is_offered
from webapp.usage.models import UsageSum
from webapp.usage.price_preview import PricePreview, last_priced_day, preview

VIEW, ADD, DELETE = "billing.view_price", "billing.add_price", "billing.delete_price"


class KindAmounts(Body):
    """The price of one token of each kind, in billionths of the currency's unit: 150 is 0.15 per million tokens."""

    uncached_input: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    output: int


class PricesBody(Body):
    """Prices of one model from a day of UTC on."""

    model: str
    effective_from: date
    currency: str
    """A code of three letters, such as USD. It is that of all kinds."""
    unit_nano: KindAmounts


class PricesQuery(Query):
    """Prices of one model from a day of UTC on."""

    model: str
    effective_from: date


class PriceSpan(Result):
    """Prices of one model in a span of days of UTC."""

    first: date
    last: date | None
    """The last day; null: no later prices are set."""
    state: str
    """past, now or to_come."""
    currency: str | None
    """null: a kind has no price, or currencies differ, so the model is unpriced."""
    unit_nano: KindAmounts | None


class ModelPrices(Result):
    """A model with its prices."""

    model: str
    name: str
    """The name that users see: an operator's, or the model's id."""
    is_served: bool
    is_priced: bool
    """False: requests of today have no cost."""
    spans: list[PriceSpan]
    """The earliest first; empty: it never had a price."""
    num_unpriced: int
    """Requests of the last 30 days without a price."""
    earliest: date
    """The first day from which new prices may apply: the day after the last priced bill."""


class PriceList(Result):
    """Prices of all models that are served, priced or were used."""

    today: date
    """The day in UTC, by which bills take their prices."""
    models: list[ModelPrices]


def list_prices(request: HttpRequest) -> PriceList:
    """List the prices of all models, with their days. 403 `forbidden`."""
    checked_operator(request, VIEW, "Only operators with the permission to view prices see them.")
    book, today = price_book(), price_changes.today()
    names = model_names()
    models = [_shown(model, names, book, today) for model in known_models(book)]
    return PriceList(today=today, models=models)


def preview_prices(request: HttpRequest, body: PricesBody) -> PricePreview:
    """Show what the last 30 days would have cost with these prices, which are not saved. 409 `conflict`."""
    _check_may_add(request)
    new = _checked(body)
    return preview(new, price_book(new.model), price_changes.today(), dict(User.objects.values_list("pk", "username")))


@answers(201)
def create_prices(request: HttpRequest, body: PricesBody) -> PriceList:
    """Set the prices of a model from a day on. Posted bills stay as they are. 409 `conflict`."""
    _check_may_add(request)
    try:
        price_changes.save(_checked(body))
    except BadPrices as bad:
        raise _refusal(bad) from None
    return list_prices(request)


def remove_prices(request: HttpRequest, query: PricesQuery) -> PriceList:
    """Remove prices that have not begun. 409 `conflict` when they have."""
    checked_operator(request, DELETE, "Only operators with the permission to delete prices remove them.")
    try:
        if not price_changes.remove(query.model, query.effective_from):
            raise not_found("price")
    except BadPrices as bad:
        raise _refusal(bad) from None
    return list_prices(request)


def _check_may_add(request: HttpRequest) -> None:
    checked_operator(request, ADD, "Only operators with the permission to add prices set them.")


def _checked(body: PricesBody) -> NewPrices:
    unit_nano = {str(kind): getattr(body.unit_nano, kind) for kind in KINDS}
    new = NewPrices(body.model, body.effective_from, body.currency, unit_nano)
    if new.model not in known_models(price_book()):
        message = f"No model {new.model[:128]!r} is served, priced or was used. Choose one of the list."
        raise ApiError(400, "invalid", message, "model")
    try:
        price_changes.check(new, last_priced_day(new.model))
    except BadPrices as bad:
        raise _refusal(bad) from None
    return new


def _refusal(bad: BadPrices) -> ApiError:
    is_conflict = bad.problems[0].is_conflict
    status, code = (409, "conflict") if is_conflict else (400, "invalid")
    return all_of([ApiError(status, code, problem.message, problem.field) for problem in bad.problems])


def known_models(book: PriceBook) -> list[str]:
    """The models that are offered, priced or were used: those that are offered first, the others by id."""
    served = [each.pk for each in enabled()]
    used = UsageSum.objects.filter(span="day").order_by().values_list("model", flat=True).distinct()
    return [*served, *sorted({*book.models, *used} - {*served, ""})]


def _shown(model: str, names: Mapping[str, str], book: PriceBook, today: date) -> ModelPrices:
    last = max((day for day in (last_priced_day(model), price_changes.last_priced_bill(model)) if day), default=None)
    return ModelPrices(
        model=model,
        name=names.get(model, model),
        is_served=is_offered(model),
        is_priced=book.in_force(model, today) is not None,
        spans=_spans(book.history(model), today),
        num_unpriced=_num_unpriced(model, today),
        earliest=today if last is None else max(today, last + timedelta(days=1)),
    )


def _spans(history: list[tuple[date, PriceSet | None]], today: date) -> list[PriceSpan]:
    ends = [*(day - timedelta(days=1) for day, _ in history[1:]), None]
    return [
        PriceSpan(
            first=first,
            last=last,
            state="to_come" if first > today else "past" if last is not None and last < today else "now",
            currency=found.currency if found else None,
            unit_nano=KindAmounts(**found.unit_nano) if found else None,
        )
        for (first, found), last in zip(history, ends, strict=False)
    ]


def _num_unpriced(model: str, today: date) -> int:
    rows = UsageSum.objects.filter(span="day", model=model, start__date__gt=today - timedelta(days=30))
    return sum(rows.values_list("num_unpriced", flat=True))
