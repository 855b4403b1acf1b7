"""Makes, finds and revokes keys, and says what each may do. Knows nothing of HTTP."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from webapp.ground.audit.log import record
from webapp.ground.gateway.refusal import Refusal
from webapp.identity.keys import secrets
from webapp.identity.keys.models import FEATURES, MAX_NAME_CHARS, ApiKey, Feature
from webapp.models.registry.models import RegisteredModel
from webapp.models.registry.offered import EMBEDDING_MODEL

MAX_LIVE = 100
NOTED_EVERY = timedelta(minutes=1)
"""Use is written no more often, so that not every request writes."""
_NO_DIGEST = "0" * 64
_REFUSALS = {
    "unknown_key": "There is no such key. Check that the whole key was sent, or make a new one at /account.",
    "revoked_key": "This key was revoked. Make a new one at /account, and use that.",
    "expired_key": "This key has expired. Make a new one at /account, and use that.",
    "owner_inactive": "The account of this key is closed. Ask an administrator.",
}


class KeyRefused(Exception):
    """A key that was sent does not work. The message never holds what was sent."""

    def __init__(self, code: str, message: str = "") -> None:
        self.code, self.message = code, message or _REFUSALS[code]
        super().__init__(self.message)


class KeyInvalid(Exception):
    """A key cannot be made like this."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


class TooManyKeys(Exception):
    """The user has reached the limit of keys."""

    def __init__(self) -> None:
        super().__init__(f"The account has {MAX_LIVE} keys that work, the limit. Revoke one first.")


class OutOfScope(Refusal):
    """The key is limited to other models or features."""

    status, code, field = 403, "out_of_scope", "model"

    def __init__(self, model: str) -> None:
        super().__init__(f"This key is limited to other models or features than {model[:100]!r}. Use another key.")


@dataclass(frozen=True)
class New:
    """A key that was just made. Its secret is nowhere else."""

    key: ApiKey
    secret: str = field(repr=False)


def create(
    user_id: int,
    name: str,
    models: Sequence[str] = (),
    features: Sequence[str] = (),
    expires_at: datetime | None = None,
) -> New:
    """Make a key of the user. Raises KeyInvalid, TooManyKeys."""
    secret = secrets.make()
    key = ApiKey(user_id=user_id, prefix=secret.prefix, digest=secret.digest, expires_at=expires_at)
    key.name, key.models, key.features = checked_name(name), _checked_models(models), _checked_features(features)
    if expires_at is not None and expires_at <= timezone.now():
        raise KeyInvalid("The key would have expired already. Choose a later moment.", "expires_at")
    with transaction.atomic():
        # The lock makes keys that are made at once be counted one after the other. SQLite has one writer anyway.
        User.objects.select_for_update(no_key=True).only("pk").get(pk=user_id)
        if live(ApiKey.objects.filter(user_id=user_id)).count() >= MAX_LIVE:
            raise TooManyKeys
        key.save(force_insert=True)
        record(key.user, "made a key of", {}, {"key": key.prefix})
    return New(key, secret.text)


def find(secret: str) -> ApiKey:
    """Return the key with this secret, with its user. Raises KeyRefused."""
    sent = secrets.parse(secret)
    key = ApiKey.objects.select_related("user").filter(prefix=sent.prefix).first() if sent else None
    if not hmac.compare_digest(key.digest if key else _NO_DIGEST, sent.digest if sent else "") or key is None:
        raise KeyRefused("unknown_key")
    if key.revoked_at is not None:
        raise KeyRefused("revoked_key")
    if not key.is_live(timezone.now()):
        raise KeyRefused("expired_key")
    if not key.user.is_active:
        raise KeyRefused("owner_inactive")
    return key


def revoke(key: ApiKey, reason: str = "") -> None:
    """Let the key work no more; does nothing where it was revoked before. reason: an operator's own."""
    now = timezone.now()
    with transaction.atomic():
        if ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=now):
            record(key.user, "revoked a key of", {"key": key.prefix}, {}, reason)
    key.revoked_at = key.revoked_at or now


def may(key: ApiKey, feature: Feature, model: str | None = None) -> bool:
    """Return whether the key's scopes have the feature, and the model where one is named."""
    return feature in (key.features or FEATURES) and (model is None or not key.models or model in key.models)


def check_scope(key: ApiKey | None, feature: Feature, model: str) -> None:
    """Raises OutOfScope. None: the request came with a sign-in, which has no scopes."""
    if key is not None and not may(key, feature, model):
        raise OutOfScope(model)


def note_use(key: ApiKey) -> None:
    """Write the moment of use, once a minute at most."""
    now = timezone.now()
    if key.last_used_at is None or now - key.last_used_at >= NOTED_EVERY:
        is_due = Q(last_used_at=None) | Q(last_used_at__lte=now - NOTED_EVERY)
        ApiKey.objects.filter(is_due, pk=key.pk).update(last_used_at=now)


def live(keys: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
    """Of these keys, those that are neither revoked nor expired."""
    return keys.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()), revoked_at=None)


def live_ids(ids: Iterable[int]) -> set[int]:
    """Of these keys, those that work now."""
    return set(live(ApiKey.objects.filter(pk__in=list(ids), user__is_active=True)).values_list("pk", flat=True))


def checked_name(text: str) -> str:
    """Return the name without double spaces. Raises KeyInvalid."""
    name = " ".join(text.split())
    if not name.isprintable() or not 0 < len(name) <= MAX_NAME_CHARS:
        raise KeyInvalid(f"A key's name has 1 to {MAX_NAME_CHARS} printable characters.", "name")
    return name


def _checked_models(ids: Sequence[str]) -> list[str]:
    known = {EMBEDDING_MODEL, *RegisteredModel.objects.filter(pk__in=ids).values_list("pk", flat=True)}
    if unknown := [each for each in ids if each not in known]:
        raise KeyInvalid(f"There is no model {unknown[0][:100]!r}. Choose among the site's models.", "models")
    return list(dict.fromkeys(ids))


def _checked_features(names: Sequence[str]) -> list[str]:
    if unknown := [each for each in names if each not in FEATURES]:
        raise KeyInvalid(f"There is no feature {unknown[0][:100]!r}; use some of: {', '.join(FEATURES)}.", "features")
    return list(dict.fromkeys(names))
