"""The signed-in user of an operator's operation, with the permission that it needs."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpRequest

from webapp.ground.gateway.errors import ApiError, user_id


def signed_in_user(request: HttpRequest) -> User:
    """The row of the signed-in user, for permissions and name."""
    return User.objects.get(pk=user_id(request))


def checked_operator(request: HttpRequest, permission: str, refusal: str) -> User:
    """The signed-in operator. Raises ApiError 403 with the words of `refusal` where the permission lacks."""
    found = signed_in_user(request)
    if not found.has_perm(permission):
        raise ApiError(403, "forbidden", f"{refusal} Ask an administrator.")
    return found
