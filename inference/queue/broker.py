"""Spells one Redis address for two libraries. Knows nothing of messages."""

from __future__ import annotations


def celery_url(redis_url: str) -> str:
    """Return Celery's spelling of a redis-py address: it calls a unix socket `redis+socket://`."""
    if redis_url.startswith("unix://"):
        path, _, query = redis_url.removeprefix("unix://").partition("?")
        database = dict(part.split("=", 1) for part in query.split("&") if "=" in part).get("db", "0")
        return f"redis+socket://{path}?virtual_host={database}"
    return redis_url
