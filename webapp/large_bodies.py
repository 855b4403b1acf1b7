"""The most bytes that a request's body may have: a signed-in user sends more, and a file more than JSON."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

from django.conf import settings
from django.http import parse_cookie
from django.urls import Resolver404, resolve

from webapp.ground.gateway.arrival import FREE_BYTES
from webapp.ground.gateway.body import MAX_BODY_BYTES
from webapp.ground.gateway.credentials import secret_of
from webapp.ground.gateway.errors import ApiError, not_signed_in
from webapp.ground.gateway.families import FAMILIES, is_of_family, without_recording
from webapp.identity.keys.keys import KeyRefused, find
from webapp.identity.keys.middleware import OWN
from webapp.lifecycle.stream.frames import read
from webapp.lifecycle.stream.session import user_of
from webapp.surfaces.batches.bounds import MAX_BATCH_BYTES

_OF_MANY = (f"{FAMILIES}files", f"{FAMILIES}messages/batches")
"""Addresses that take many calls in one body."""


async def most_bytes(path: str, headers: Mapping[str, str]) -> int:
    """Return the limit of this path for the key or the cookies of these headers. Raises ApiError for a stranger."""
    path = unquote(path)
    if await read(lambda: _is_signed_in(path, headers)):
        return _most_bytes(path)
    if path.startswith(OWN) or is_of_family(path):
        raise not_signed_in()
    message = f"Without a sign-in a request has {FREE_BYTES >> 10} KiB at most. Sign in, then send it again."
    raise ApiError(413, "too_large", message)


def _is_signed_in(path: str, headers: Mapping[str, str]) -> bool:
    """As the middlewares decide it: a key counts below these two alone, and replaces the cookie. Raises ApiError."""
    secret = secret_of(headers) if path.startswith(OWN) or is_of_family(path) else None
    if secret is None:
        session_key = parse_cookie(headers.get("Cookie", "")).get(settings.SESSION_COOKIE_NAME)
        return not is_of_family(path) and user_of(session_key) is not None
    try:
        find(secret)
    except KeyRefused as refused:
        raise ApiError(401, refused.code, refused.message) from None
    return True


def _most_bytes(path: str) -> int:
    if without_recording(path).rstrip("/") in _OF_MANY:
        return MAX_BATCH_BYTES
    return settings.DATA_UPLOAD_MAX_MEMORY_SIZE if _takes_file(path) else MAX_BODY_BYTES


def _takes_file(path: str) -> bool:
    try:
        operations = getattr(resolve(path).func, "operations", {})
    except Resolver404:
        return False
    return any(operation.takes_file for operation in operations.values())
