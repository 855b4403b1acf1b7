"""Operations on limits that several users' requests share, and on one user's limits at one model, for operators."""

from __future__ import annotations

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.http import HttpRequest

from webapp.api.usage.limits import Amounts, AmountsBody, check_amounts, check_rank, checked_changer, find_user
from webapp.ground.gateway.errors import ApiError, not_found
from webapp.ground.gateway.structs import Result
from webapp.models.registry.models import RegisteredModel
from webapp.usage.limits.models import AMOUNTS, SharedRule
from webapp.usage.limits.shared import SharedBy, set_shared


class SharedLimitsBody(AmountsBody):
    """The subject, and all amounts that its requests share. All null: the rule is removed.

    The subject is a model, a group's members together, a user at one model, or the whole site.
    """

    model: str = ""
    """Id of a registered model; empty: requests to all models."""
    user_id: int | None = None
    """Only with a model."""
    group_id: int | None = None
    """Only without a model."""
    is_of_owners: bool = False
    """Only with a group: the rule of its owners, beside the operators' own."""


class SharedLimits(Amounts):
    """One shared rule."""

    model: str
    user_id: int | None
    user: str
    """The user's name; empty: requests of all users."""
    group_id: int | None
    group: str
    """The group's name; empty: it is no rule of a group."""
    is_of_owners: bool
    """The group's owners set it. The operators' own holds beside it."""


class SharedLimitsList(Result):
    """All shared rules, without those of single keys."""

    rules: list[SharedLimits]


def list_shared_limits(request: HttpRequest) -> SharedLimitsList:
    """List the limits that requests share. 403 `forbidden`."""
    checked_changer(request)
    return _listed()


def change_shared_limits(request: HttpRequest, body: SharedLimitsBody) -> SharedLimitsList:
    """Set the limits that the requests of one subject share. 403 `forbidden`; 404 where there is no such subject."""
    operator = checked_changer(request)
    check_amounts(body, AMOUNTS)
    user, group = _subject_of(body)
    if user is not None:
        check_rank(operator, user)
    amounts = {name: getattr(body, name) for name in AMOUNTS}
    with transaction.atomic():
        set_shared(SharedBy(body.model, user, group, is_of_owners=body.is_of_owners), amounts)
    return _listed()


def _subject_of(body: SharedLimitsBody) -> tuple[User | None, Group | None]:
    """Raises ApiError."""
    if body.user_id is not None and not body.model:
        raise ApiError(400, "invalid", "A user's limits for all models have an address of their own.", "user_id")
    if body.group_id is not None and (body.model or body.user_id is not None):
        raise ApiError(400, "invalid", "A group shares its limits for all models.", "group_id")
    if body.is_of_owners and body.group_id is None:
        raise ApiError(400, "invalid", "Only a group has owners. Name the group.", "is_of_owners")
    if body.model and not RegisteredModel.objects.filter(pk=body.model).exists():
        raise not_found("model")
    group = None if body.group_id is None else Group.objects.filter(pk=body.group_id).first()
    if body.group_id is not None and group is None:
        raise not_found("group")
    return None if body.user_id is None else find_user(body.user_id), group


def _listed() -> SharedLimitsList:
    rules = SharedRule.objects.filter(key=None).select_related("user", "group").order_by("subject")
    return SharedLimitsList([_shown(rule) for rule in rules])


def _shown(rule: SharedRule) -> SharedLimits:
    return SharedLimits(
        model=rule.model,
        user_id=rule.user_id,
        user=rule.user.get_username() if rule.user is not None else "",
        group_id=rule.group_id,
        group=rule.group.name if rule.group is not None else "",
        is_of_owners=rule.is_of_owners,
        **{name: getattr(rule, name) for name in AMOUNTS},
    )
