"""A program with a key of a user."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from webapp.identity.keys.keys import New, create
from webapp.identity.keys.models import ApiKey


def new_key(owner: str | User = "carol", **scopes: Any) -> New:
    """A key of the user, who is made when missing."""
    user = owner if isinstance(owner, User) else User.objects.get_or_create(username=owner)[0]
    return create(user.pk, "notebook", **scopes)


def program(secret: str) -> Client:
    """A client without cookies that sends the key, and is held to the CSRF rules of browsers."""
    return Client(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {secret}"})


def expire(key: ApiKey) -> None:
    ApiKey.objects.filter(pk=key.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
