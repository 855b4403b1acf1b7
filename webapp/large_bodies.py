"""The most bytes that a request's body may have: a signed-in user sends more, and a file more than JSON."""

from __future__ import annotations

from urllib.parse import unquote

from django.conf import settings
from django.http import parse_cookie
from django.urls import Resolver404, resolve

from webapp.gateway.arrival import FREE_BYTES
from webapp.gateway.body import MAX_BODY_BYTES
from webapp.gateway.errors import ApiError, not_signed_in
from webapp.stream.frames import read
from webapp.stream.session import user_of


async def most_bytes(path: str, cookies: str) -> int:
    """Return the limit of this path for the user of these cookies. Raises ApiError for a stranger."""
    session_key = parse_cookie(cookies).get(settings.SESSION_COOKIE_NAME)
    if await read(lambda: user_of(session_key)) is not None:
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE if _takes_file(unquote(path)) else MAX_BODY_BYTES
    if path.startswith("/api/"):
        raise not_signed_in()
    message = f"Without a sign-in a request has {FREE_BYTES >> 10} KiB at most. Sign in, then send it again."
    raise ApiError(413, "too_large", message)


def _takes_file(path: str) -> bool:
    try:
        operations = getattr(resolve(path).func, "operations", {})
    except Resolver404:
        return False
    return any(operation.takes_file for operation in operations.values())
