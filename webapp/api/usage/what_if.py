"""The operation that answers what a period would have cost under another condition."""

from __future__ import annotations

from django.http import HttpRequest

from webapp.api.usage.usage import AllUsageQuery, asked_filter, checked_reader, chosen_users, period_of
from webapp.ground.gateway.errors import ApiError
from webapp.usage.what_if import BadCondition, Condition, Question, WhatIf, what_if


class WhatIfQuery(AllUsageQuery):
    """A period, a choice of requests, and a condition that is imagined to have been otherwise."""

    question: Question = "no_cache"
    """No cache; the prices of another model; prices times a factor; another time to live of the cache."""
    prices_of: str = ""
    """For `prices_of`: the model whose prices apply."""
    factor: str = "2"
    """For `factor`: a decimal number from 0 to 1000."""
    of: str = ""
    """The one model whose requests the condition concerns; empty: every model's."""


def ask_what_if(request: HttpRequest, query: WhatIfQuery) -> WhatIf:
    """Answer what the requests would have cost, from their recorded tokens. 403 `forbidden` without the permission."""
    checked_reader(request)
    chosen = asked_filter(query, chosen_users(query))
    condition = Condition(query.question, query.prices_of, query.factor, query.of)
    try:
        return what_if(period_of(query), chosen, condition)
    except BadCondition as error:
        raise ApiError(400, "invalid", str(error), error.field) from None
