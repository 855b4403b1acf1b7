"""Operations on the limits that a group's members share: the operators', and the stricter ones of its owners."""

from __future__ import annotations

import msgspec
from django.contrib.auth.models import Group
from django.db import transaction
from django.http import HttpRequest

from webapp.api.usage.group_usage import group_of_own, owned_group
from webapp.api.usage.limits import Amounts, AmountsBody, check_amounts, range_words
from webapp.ground.gateway.errors import ApiError, all_of
from webapp.ground.gateway.structs import Result
from webapp.usage.limits.models import AMOUNTS, SharedRule
from webapp.usage.limits.shared import SharedBy, set_shared

_OWNERS_SET = "Only an owner of the group sets its limits. Ask an owner."


class GroupLimitsBody(AmountsBody):
    """What the requests of a group's members may use together; null: the owners set no such limit."""


class GroupLimits(Result):
    """The limits that a group's members share. Both rules hold, so the lower amount decides."""

    operators: Amounts
    owners: Amounts


def show_group_limits(request: HttpRequest, group_id: int) -> GroupLimits:
    """Show the limits that the group's members share, for its people."""
    group, _ = group_of_own(request, group_id)
    return _shown(group)


def change_group_shared_limits(request: HttpRequest, group_id: int, body: GroupLimitsBody) -> GroupLimits:
    """Set all limits of a group's owners. 400 `invalid` beyond the operators'; 403 `forbidden` but for owners."""
    group = owned_group(request, group_id, _OWNERS_SET)
    check_amounts(body, AMOUNTS)
    with transaction.atomic():
        _check_within(body, _rule(group, is_of_owners=False))
        set_shared(SharedBy(group=group, is_of_owners=True), msgspec.structs.asdict(body))
    return _shown(group)


def _check_within(body: GroupLimitsBody, operators: SharedRule) -> None:
    """Raises ApiError where an amount is above the operators'."""
    wrong = []
    for name in AMOUNTS:
        asked, most = getattr(body, name), getattr(operators, name)
        if asked is not None and most is not None and asked > most:
            message = f"{range_words(name)} must be at most {most:,}, which the operators allow the group."
            wrong.append(ApiError(400, "invalid", message, name))
    if wrong:
        raise all_of(wrong)


def _shown(group: Group) -> GroupLimits:
    return GroupLimits(*(_amounts(_rule(group, is_of_owners)) for is_of_owners in (False, True)))


def _amounts(rule: SharedRule) -> Amounts:
    return Amounts(**{name: getattr(rule, name) for name in AMOUNTS})


def _rule(group: Group, is_of_owners: bool) -> SharedRule:
    """The rule, or a new one that says nothing and is not saved."""
    return SharedRule.objects.filter(group=group, is_of_owners=is_of_owners).first() or SharedRule()
