"""Operations on keys: a user makes, renames and revokes the own ones; an operator lists and revokes one user's."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest
from django.utils import timezone

from webapp.api.identity.people import StopBody, checked_reason
from webapp.api.operators import checked_operator
from webapp.api.usage.limits import check_amounts, check_rank, checked_changer, find_user
from webapp.ground.gateway.errors import ApiError, not_found, user_id
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Result
from webapp.identity.keys import keys
from webapp.identity.keys.models import ApiKey, Feature
from webapp.usage.limits.models import AMOUNTS, SharedRule
from webapp.usage.limits.shared import SharedBy, set_shared

REVOKE = "keys.revoke_keys"
MAX_LISTED = 200


class KeyLimits(Body):
    """What the requests of one key may use together; null: the key has no such limit of its own.

    The limits of its user, group and model hold beside these.
    """

    max_open: int | None = None
    requests_per_minute: int | None = None
    input_tokens_per_minute: int | None = None
    output_tokens_per_minute: int | None = None
    tokens_per_day: int | None = None
    daily_budget_nano: int | None = None
    """In billionths of a unit of each currency, on one day of UTC."""
    monthly_budget_nano: int | None = None


class NewKey(Body):
    """A key to make."""

    name: str
    """Tells the keys apart; at most 60 characters."""
    models: tuple[str, ...] = ()
    """Ids of the models that it may use. Default: all that are offered."""
    features: tuple[Feature, ...] = ()
    """Features that it may use. Default: all."""
    expires_at: datetime | None = None
    """With its time zone, such as 2026-11-24T08:00:00+01:00. Default: it does not expire."""
    limits: KeyLimits = msgspec.field(default_factory=KeyLimits)


class KeyChange(Body):
    """A key's new name."""

    name: str


class Key(Result):
    """A key, without its secret."""

    id: int
    name: str
    prefix: str
    """The beginning of the secret, by which a user knows the key."""
    models: list[str]
    """Empty: all that are offered."""
    features: list[Feature]
    """Empty: all."""
    state: Literal["live", "expired", "revoked"]
    created_at: datetime
    expires_at: datetime | None
    """Null: it does not expire."""
    revoked_at: datetime | None
    last_used_at: datetime | None
    """To the minute; null: it was not used yet."""
    limits: KeyLimits


class KeyList(Result):
    """A user's keys."""

    keys: list[Key]
    """Those that are not revoked first, then the newest; at most 200."""
    most_live: int
    """Keys that may work at the same time."""


class CreatedKey(Result):
    """A new key."""

    key: Key
    secret: str
    """The key itself. It is in this answer alone: keep it where only the program reads it."""


def list_own_keys(request: HttpRequest) -> KeyList:
    """List the user's own keys."""
    return _listed(user_id(request))


@answers(201)
def create_key(request: HttpRequest, body: NewKey) -> CreatedKey:
    """Make a key. Only this answer has its secret. 409 `too_many` (100 that work)."""
    if body.expires_at is not None and body.expires_at.tzinfo is None:
        raise ApiError(400, "invalid", "expires_at needs a time zone, such as Z at its end.", "expires_at")
    check_amounts(body.limits, AMOUNTS)
    try:
        with transaction.atomic():
            new = keys.create(user_id(request), body.name, body.models, body.features, body.expires_at)
            _limit(new.key, body.limits)
    except keys.KeyInvalid as error:
        raise ApiError(400, "invalid", str(error), error.field) from None
    except keys.TooManyKeys as error:
        raise ApiError(409, "too_many", str(error)) from None
    return CreatedKey(key=_shown(new.key), secret=new.secret)


def rename_key(request: HttpRequest, key_id: int, body: KeyChange) -> Key:
    """Rename a key."""
    found = _find(user_id(request), key_id)
    try:
        found.name = keys.checked_name(body.name)
    except keys.KeyInvalid as error:
        raise ApiError(400, "invalid", str(error), error.field) from None
    found.save(update_fields=["name"])
    return _shown(found)


def change_key_limits(request: HttpRequest, key_id: int, body: KeyLimits) -> Key:
    """Set all limits of an own key. They never allow more than the user's own limits do."""
    return _limited(_find(user_id(request), key_id), body)


def revoke_key(request: HttpRequest, key_id: int) -> None:
    """Revoke a key for good, within a second; does nothing where it is revoked already."""
    keys.revoke(_find(user_id(request), key_id))


def list_user_keys(request: HttpRequest, target_id: int) -> KeyList:
    """List the keys of a user, for operators. 403 `forbidden`."""
    return _listed(_under(request, target_id).pk)


def revoke_user_key(request: HttpRequest, target_id: int, key_id: int, body: StopBody) -> Key:
    """Revoke a key of a user for good, for operators. 403 `forbidden`."""
    found = _find(_under(request, target_id).pk, key_id)
    keys.revoke(found, checked_reason(body))
    return _shown(found)


def change_user_key_limits(request: HttpRequest, target_id: int, key_id: int, body: KeyLimits) -> Key:
    """Set all limits of a user's key, for operators. 403 `forbidden`."""
    found = find_user(target_id)
    check_rank(checked_changer(request), found)
    return _limited(_find(found.pk, key_id), body)


def _limited(key: ApiKey, limits: KeyLimits) -> Key:
    check_amounts(limits, AMOUNTS)
    with transaction.atomic():
        _limit(key, limits)
    return _shown(key)


def _limit(key: ApiKey, limits: KeyLimits) -> None:
    set_shared(SharedBy(key=key), msgspec.structs.asdict(limits))


def _under(request: HttpRequest, target_id: int) -> User:
    """The user whose keys the operator may see and revoke. Raises ApiError."""
    operator = checked_operator(request, REVOKE, "Only operators with the permission to revoke keys do so.")
    found = find_user(target_id)
    check_rank(operator, found)
    return found


def _find(owner: int, key_id: int) -> ApiKey:
    found = ApiKey.objects.filter(pk=key_id, user_id=owner).first()
    if found is None:
        raise not_found("key")
    return found


def _listed(owner: int) -> KeyList:
    rows = ApiKey.objects.filter(user_id=owner).order_by(F("revoked_at").desc(nulls_first=True), "-created_at", "-pk")
    listed = list(rows[:MAX_LISTED])
    rules = {rule.key_id: rule for rule in SharedRule.objects.filter(key__in=listed)}
    return KeyList(keys=[_with_rule(row, rules.get(row.pk)) for row in listed], most_live=keys.MAX_LIVE)


def _shown(row: ApiKey) -> Key:
    return _with_rule(row, SharedRule.objects.filter(key=row).first())


def _with_rule(row: ApiKey, rule: SharedRule | None) -> Key:
    is_live = row.is_live(timezone.now())
    return Key(
        id=row.pk,
        name=row.name,
        prefix=row.prefix,
        models=row.models,
        features=row.features,
        state="revoked" if row.revoked_at is not None else "live" if is_live else "expired",
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        last_used_at=row.last_used_at,
        limits=KeyLimits(**{name: getattr(rule, name) for name in AMOUNTS}) if rule is not None else KeyLimits(),
    )
