"""The database row of a key. Knows nothing of how a key arrives."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Literal, get_args

from django.conf import settings
from django.db.models import CASCADE, CharField, DateTimeField, ForeignKey, JSONField, Model
from django.utils import timezone

Feature = Literal["chat", "completions", "embeddings", "batches", "read"]
"""A part of the API that a key may be limited to. `read`: whatever only reads."""
FEATURES: tuple[Feature, ...] = get_args(Feature)
MAX_NAME_CHARS = 60


class ApiKey(Model):
    """A key with which a user's programs call the API. Its secret is not kept."""

    user = ForeignKey(settings.AUTH_USER_MODEL, on_delete=CASCADE, related_name="api_keys")
    name = CharField(max_length=MAX_NAME_CHARS)
    prefix = CharField(max_length=11, unique=True)
    """The beginning of the secret, by which it is looked up and shown."""
    digest = CharField(max_length=64)
    """SHA-256 of the whole secret. The secret is random, so a slow hash would add nothing."""
    models = JSONField(default=list)
    """Ids of the models that the key may use; empty: all that are offered."""
    features = JSONField(default=list)
    """Features that the key may use; empty: all."""
    created_at = DateTimeField(default=timezone.now)
    expires_at = DateTimeField(null=True)
    revoked_at = DateTimeField(null=True)
    last_used_at = DateTimeField(null=True)
    """To the minute."""

    class Meta:
        default_permissions = ()
        permissions: ClassVar = [("revoke_keys", "Can see and revoke keys of a user")]

    def __str__(self) -> str:
        return self.prefix

    @property
    def principal(self) -> str:
        """The key, as the events of its requests name it."""
        return f"key:{self.prefix}"

    def is_live(self, now: datetime) -> bool:
        """Return whether the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)
