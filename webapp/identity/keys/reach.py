"""The part of the native API that a key reaches, and the feature that it needs there. All else needs a sign-in.

An operation that is not named here needs a sign-in: keys and accounts, and whatever operators do.
"""

from __future__ import annotations

from collections.abc import Sequence

from webapp.identity.keys.models import FEATURES, Feature

_PUBLIC = ("api/openapi.json", "api/protocol.schema.json")
"""Descriptions that are for all."""

_CHAT = (
    "api/session",
    "api/models",
    "api/attachments",
    "api/pictures",
    "api/conversations",
    "api/messages",
    "api/requests",
    "api/reruns",
    "api/presets",
    "api/new-chats",
    "api/memory",
)
"""Addresses of conversations, their requests and what they use, with all below them."""
_OF_OPERATORS = "api/requests/<str:request_id>/reading"
"""Stands below those of a user's own requests, and opens others'."""
_READ = (
    "api/usage/limits",
    "api/usage/refusals",
    "api/views",
    "api/shares",
    "api/storage",
    "api/retention",
    "api/notices",
    "api/usage",
    "api/usage/requests",
    "api/usage/days",
    "api/usage/days.csv",
    "api/usage/findings",
)
"""Addresses that only answer, without those below them: these are partly operators'."""
_READ_BY_POST = ("api/mcp",)
"""Addresses whose POST only reads."""
_BATCHES = "api/batches"
"""Batches, with all below them."""
_READING = ("GET", "HEAD")


def features_for(route: str, method: str) -> Sequence[Feature]:
    """The features of which a key needs one for this operation; none: it needs a sign-in.

    route: as in webapp/urls.py.
    """
    if route in _PUBLIC:
        return FEATURES
    if f"{route}/".startswith(f"{_BATCHES}/"):
        return ("batches", "read") if method in _READING else ("batches",)
    is_chat = route != _OF_OPERATORS and any(f"{route}/".startswith(f"{each}/") for each in _CHAT)
    if route in _READ_BY_POST:
        return ("chat", "read")
    if method not in _READING:
        return ("chat",) if is_chat else ()
    return ("chat", "read") if is_chat else ("read",) if route in _READ else ()
