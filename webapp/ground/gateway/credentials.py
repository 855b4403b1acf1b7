"""Reads the secret that a program sends in its headers. Knows nothing of the keys that there are."""

from __future__ import annotations

from collections.abc import Mapping

from webapp.ground.gateway.errors import ApiError

_SCHEME = "bearer"


def secret_of(headers: Mapping[str, str]) -> str | None:
    """Return the secret of `Authorization: Bearer …` or `x-api-key`; None: the request carries none.

    headers: finds a name in any case, as Django's do. Raises ApiError where the two differ.
    """
    scheme, _, text = headers.get("Authorization", "").strip().partition(" ")
    bearer = text.strip() if scheme.lower() == _SCHEME else None
    given = headers.get("x-api-key")
    given = None if given is None else given.strip()
    if bearer is not None and given is not None and bearer != given:
        message = "The headers Authorization and x-api-key have different keys. Send one of them."
        raise ApiError(401, "two_keys", message)
    return given if bearer is None else bearer
