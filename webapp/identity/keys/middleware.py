"""Lets a key stand for its user below /api/ and /v1/. Knows nothing of the operations."""

from __future__ import annotations

import logging
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import Error
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from webapp.ground.gateway.credentials import secret_of
from webapp.ground.gateway.errors import ApiError
from webapp.ground.gateway.families import is_of_family
from webapp.identity.keys.keys import KeyRefused, find, may, note_use
from webapp.identity.keys.models import ApiKey
from webapp.identity.keys.reach import features_for

logger = logging.getLogger(__name__)

OWN = "/api/"
_NEEDS_SIGN_IN = "A key does not do this. Sign in with a browser, and do it there."


class UseKey(MiddlewareMixin):
    """Middleware, below that of the sign-ins, whose user it replaces. The session's cookie then counts for nothing.

    A view finds `request.api_key`: the ApiKey, or None. Below /v1/ `request.key_refused` is the KeyRefused, or None;
    the family's own edge answers. There a cookie alone signs no user in.
    """

    def process_request(self, request: HttpRequest) -> HttpResponseBase | None:
        is_own = request.path.startswith(OWN)
        request.api_key = request.key_refused = None  # type: ignore[attr-defined]
        if not is_own and not is_of_family(request.path):
            return None
        try:
            key = _key_of(request)
        except KeyRefused as refused:
            request.key_refused = refused  # type: ignore[attr-defined]
            _act_as(request, AnonymousUser())
            return ApiError(401, refused.code, refused.message).response() if is_own else None
        if key is not None:
            request.api_key = key  # type: ignore[attr-defined]
            _act_as(request, key.user)
        elif not is_own:
            _act_as(request, AnonymousUser())
        return None

    def process_view(self, request: HttpRequest, view: Any, _args: Any, _named: Any) -> HttpResponseBase | None:
        """Refuse a key what only a sign-in may do."""
        key = key_of(request)
        if key is None or not request.path.startswith(OWN):
            return None
        needed = features_for(request.resolver_match.route if request.resolver_match else "", request.method or "")
        if not needed:
            return ApiError(403, "needs_sign_in", _NEEDS_SIGN_IN).response()
        if not any(may(key, feature) for feature in needed):
            message = f"This key is limited to other features. Use one with the feature {needed[0]}."
            return ApiError(403, "out_of_scope", message).response()
        return None

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Note the use last: a write may have to wait for another."""
        key = key_of(request)
        if key is not None:
            _note(key)
        return response


def key_of(request: HttpRequest) -> ApiKey | None:
    """The key with which the request came; None: it came with a sign-in, or with nothing."""
    found: ApiKey | None = getattr(request, "api_key", None)
    return found


def _key_of(request: HttpRequest) -> ApiKey | None:
    """Raises KeyRefused."""
    try:
        secret = secret_of(request.headers)
    except ApiError as error:
        raise KeyRefused(error.code, error.message) from None
    return None if secret is None else find(secret)


def _act_as(request: HttpRequest, user: User | AnonymousUser) -> None:
    async def auser() -> User | AnonymousUser:
        return user

    request.user = user
    request.auser = auser
    # A browser adds no such header by itself, so no page elsewhere can send one.
    request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]


def _note(key: ApiKey) -> None:
    """Where the database takes no write, as on a full disk, the request is still answered."""
    try:
        note_use(key)
    except Error:
        logger.exception("the use of a key is not noted")
