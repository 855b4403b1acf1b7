"""The user's own limits, as they are now, and what they refused lately."""

from __future__ import annotations

from django.http import HttpRequest

from inference.protocol.events import Limit
from webapp.api.requests.requests import find
from webapp.ground.gateway.errors import not_found, user_id
from webapp.ground.gateway.structs import Query, Result
from webapp.identity.keys.middleware import key_of
from webapp.identity.keys.models import ApiKey
from webapp.lifecycle.admission import limits_now
from webapp.models.registry.offered import default_id
from webapp.requests.models import Request
from webapp.usage.limits.recent_refusals import PastRefusal, recent_refusals_of
from webapp.usage.limits.taking import levels_of

WARNING_SHARE = 0.8
"""A budget of which so much is spent or reserved is warned of."""


class OwnLimitsQuery(Query):
    """The request whose limits are asked for."""

    request: str = ""
    """Id of an own request, whose model and key are meant. Default: the fields below."""
    model: str = ""
    """Default: the site's default model."""
    key: int | None = None
    """Id of an own key, whose limits count too. Default: the key with which the question comes."""


class LimitNow(Result):
    """One limit, and what is left of it."""

    limit: Limit
    is_warned: bool
    """At least 80 % of a budget is spent or reserved."""


class OwnLimits(Result):
    """Every limit that concerns the user's next request to a model."""

    limits: list[LimitNow]


class Refusals(Result):
    """The calls that the user's limits refused within a day."""

    refusals: list[PastRefusal]
    """The newest first, at most 50."""


def show_own_limits(request: HttpRequest, query: OwnLimitsQuery) -> OwnLimits:
    """Show the limits of the user's next request: the user's own, the key's, and those that are shared."""
    asked = _asked(request, query)
    found = (
        *limits_now(asked.user_id, asked.model, asked.key_id),
        *levels_of(asked.user_id, asked.model, asked.key_id),
    )
    return OwnLimits([LimitNow(each, _is_warned(each)) for each in found])


def list_own_refusals(request: HttpRequest) -> Refusals:
    """List the calls of the last day that a limit refused, without any text of them."""
    return Refusals(recent_refusals_of(user_id(request)))


def _asked(request: HttpRequest, query: OwnLimitsQuery) -> Request:
    """The request whose limits are asked for. Raises ApiError where it, or its key, is not the user's own."""
    if query.request:
        return find(request, query.request)
    return Request(user_id=user_id(request), model=query.model or default_id(), key_id=_key(request, query))


def _key(request: HttpRequest, query: OwnLimitsQuery) -> int | None:
    """Raises ApiError where the asked key is not the user's own."""
    sent = key_of(request)
    if query.key is None:
        return None if sent is None else sent.pk
    if not ApiKey.objects.filter(pk=query.key, user_id=user_id(request)).exists():
        raise not_found("key")
    return query.key


def _is_warned(limit: Limit) -> bool:
    return bool(limit.currency) and limit.limit - limit.remaining >= WARNING_SHARE * limit.limit
