"""Blocks an account for its erasure, which then begins by itself. Knows nothing of HTTP and of the deletion."""

from __future__ import annotations

from contextlib import suppress

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from redis.exceptions import RedisError

from webapp.ground.audit.log import record
from webapp.identity.accounts.models import SignInLink
from webapp.identity.accounts.sign_ins import end_all
from webapp.lifecycle.stop import stop
from webapp.operations.privacy.models import Erasure
from webapp.requests.models import Request
from webapp.surfaces.runs.advance import stop_all as stop_sets
from webapp.traces.models import Share


class LastSuperuser(Exception):
    """Without this account no operator could do everything."""


def begin(user: User, asked_by: User) -> Erasure:
    """Block the account, close its links, stop its sets of runs and its requests. A second call does so again.

    Raises LastSuperuser.
    """
    with transaction.atomic():
        if is_last_superuser(user, _superusers().select_for_update()):
            raise LastSuperuser
        erasure = Erasure.objects.filter(user=user, done_at=None).first()
        if erasure is None:
            # An erased account that was opened again is erased anew.
            Erasure.objects.filter(user=user).delete()
            erasure = Erasure.objects.create(user=user, asked_by=asked_by)
            record(user, "began to erase all data of")
        User.objects.filter(pk=user.pk).update(is_active=False)
        Share.objects.filter(trace__request__user=user).delete()
        SignInLink.objects.filter(user=user).delete()
    end_all(user.pk)
    # The erasure itself stops them again: Redis may be away for now.
    with suppress(RedisError):
        stop_open(user.pk)
    return erasure


def is_erased(user: User) -> bool:
    """Return whether an erasure, begun or done, keeps the account closed."""
    return not user.is_active and Erasure.objects.filter(pk=user.pk).exists()


def is_last_superuser(user: User, superusers: QuerySet[User] | None = None) -> bool:
    """Return whether no other account could do everything."""
    others = (_superusers() if superusers is None else superusers).exclude(pk=user.pk)
    return user.is_superuser and not others.exists()


def _superusers() -> QuerySet[User]:
    return User.objects.filter(is_superuser=True, is_active=True)


def stop_open(user_id: int) -> int:
    """Stop the user's sets of runs and open requests; return the number of requests still open. Raises RedisError."""
    stop_sets(user_id)
    found = list(Request.objects.filter(user_id=user_id, finished_at=None))
    for request in found:
        stop(request)
    return Request.objects.filter(user_id=user_id, finished_at=None).count()
