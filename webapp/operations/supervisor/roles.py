"""The environment of each child process: a secret is given only to the roles that need it. Knows nothing of processes.

A role is a process's name up to its number, such as `inference`. `docker/compose.yaml` gives its services the same.
"""

from __future__ import annotations

from collections.abc import Mapping

SITE = frozenset({"web", "lifecycle", "sender"})
"""The roles that reach the database."""
_SECRETS: dict[str, frozenset[str]] = {
    "SIGHTGLASS_DATABASE_URL": SITE,
    "SIGHTGLASS_SECRET_KEY": frozenset({"web", "lifecycle"}),
    "SIGHTGLASS_SECRET_KEY_FALLBACKS": frozenset({"web", "lifecycle"}),
    "SIGHTGLASS_EMAIL_URL": frozenset({"web", "lifecycle"}),
    "SIGHTGLASS_OTLP_HEADERS": frozenset({"sender"}),
    "SIGHTGLASS_METRICS_TOKEN": frozenset({"web"}),
    "SIGHTGLASS_BACKEND_KEY": frozenset({"inference"}),
    "SIGHTGLASS_REDIS_URL": SITE | {"inference", "probes"},
}
"""The roles that get each secret. Settings that are none go to all."""
_OF_SITE = ("DJANGO_", "PG")
"""Variables of Django and of PostgreSQL's library, which may hold a password."""


def environment_of(role: str, given: Mapping[str, str]) -> dict[str, str]:
    """Return what a process of this role gets of the given environment."""
    return {name: text for name, text in given.items() if _is_for(role, name)}


def is_secret(name: str) -> bool:
    """Return whether only some roles get this variable."""
    return name in _SECRETS


def _is_for(role: str, name: str) -> bool:
    if name.startswith(_OF_SITE):
        return role in SITE
    return role in _SECRETS.get(name, (role,))
