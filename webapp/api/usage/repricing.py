"""Operations that compare a period's cost with that under other prices, another time to live or other breakpoints."""

from __future__ import annotations

from datetime import date

from django.contrib.auth.models import User
from django.http import HttpRequest

from webapp.api.operators import signed_in_user
from webapp.api.usage.usage import PeriodQuery, checked_reader, period_of
from webapp.ground.gateway.errors import ApiError, not_found, user_id
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Result
from webapp.identity.keys.models import ApiKey
from webapp.models.billing.bill import price_book
from webapp.usage.repricing import states, tasks, work
from webapp.usage.repricing.comparison import Repriced
from webapp.usage.repricing.simulation import Placement, Ttl


class RepricingBody(Body):
    """A period, and what is imagined to have been otherwise."""

    first: date | None = None
    """Default: 29 days before `last`."""
    last: date | None = None
    """The last day, included. Default: today."""
    zone: str = "UTC"
    model: str = ""
    """Empty: all models."""
    is_of_all: bool = False
    """Of all users, for operators; else one's own."""
    placement: Placement = "recorded"
    """Breakpoints: as sent; none; after the system prompt; there and after the history; after the whole prompt."""
    ttl: Ttl = "recorded"
    """Time for which breakpoints are kept: as sent, none, 5 minutes, or an hour."""
    prices_of: str = ""
    """The model whose prices all have; empty: each has its own, of today's list with its days."""


class RepricingId(Result):
    """A comparison that was begun."""

    id: str


class RepricedRow(Repriced):
    """Requests of one model and key, with names."""

    user: str
    key: str
    """Empty: they came with a sign-in, or the key was deleted."""


class Repricing(Result):
    """A comparison as far as it is."""

    state: states.State
    num_done: int
    num_requests: int
    rows: list[RepricedRow]
    """The dearest first; empty until it is done."""
    models: list[str]
    """Models with prices."""


@answers(201)
def begin_repricing(request: HttpRequest, body: RepricingBody) -> RepricingId:
    """Begin a comparison in the background; one's last one ends. 403 `forbidden` for that of all users.

    429 `busy`: the site has as many open as it compares at once.
    """
    owner = checked_reader(request) if body.is_of_all else signed_in_user(request)
    if body.prices_of and body.prices_of not in price_book().models:
        raise ApiError(400, "invalid", f"There are no prices of {body.prices_of!r}.", "prices_of")
    try:
        work_id = work.begin(_wanted(owner, body))
    except work.TooMany as error:
        raise ApiError(400, "too_many", str(error), "first") from None
    except states.TooManyOpen as error:
        raise ApiError(429, "busy", f"{error} Try again in a few seconds.", retry_after_s=5) from None
    tasks.queue(work_id)
    return RepricingId(work_id)


def show_repricing(request: HttpRequest, work_id: str) -> Repricing:
    """Show a comparison of one's own. It is kept for an hour."""
    found = work.progress(work_id, user_id(request))
    if found is None:
        raise not_found("comparison")
    return Repricing(found.state, found.num_done, found.num_requests, _named(found.rows), price_book().models)


def cancel_repricing(request: HttpRequest, work_id: str) -> None:
    """Cancel a comparison of one's own."""
    if not work.cancel(work_id, user_id(request)):
        raise not_found("comparison")


def _wanted(owner: User, body: RepricingBody) -> work.Wanted:
    period = period_of(PeriodQuery(first=body.first, last=body.last, zone=body.zone))
    given = (body.zone, body.model, body.is_of_all, body.placement, body.ttl, body.prices_of)
    return work.Wanted(owner.pk, period.first, period.last, *given)


def _named(rows: list[Repriced]) -> list[RepricedRow]:
    users = dict(User.objects.filter(pk__in={each.user_id for each in rows}).values_list("pk", "username"))
    keys = dict(ApiKey.objects.filter(pk__in={each.key_id for each in rows}).values_list("pk", "name"))
    return [
        RepricedRow(
            **{name: getattr(each, name) for name in Repriced.__struct_fields__},
            user=users.get(each.user_id, str(each.user_id)),
            key=keys.get(each.key_id, "") if each.key_id is not None else "",
        )
        for each in rows
    ]
