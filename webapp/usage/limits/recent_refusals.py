"""A user's last refusals, in Redis for a day: which limit refused, and how it stood. It holds no text of a request."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec
import redis
from django.conf import settings
from redis.exceptions import RedisError

from inference.eventlog.clock import unix_us
from inference.eventlog.connections import connect
from inference.eventlog.keys import PREFIX
from inference.protocol.events import Limit
from webapp.ground.gateway.structs import Result
from webapp.usage.limits.refusal import Refused

MAX_KEPT = 50
"""Refusals of one user. A client that repeats a refused call drives out the older ones."""
KEPT_S = 86_400


class PastRefusal(Result, kw_only=True):
    """One call that a limit refused."""

    at_unix_us: int
    code: str
    """Stable word for the cause, such as `rate_limited`."""
    limit: Limit | None
    """The limit that refused, as it stood. null: no limit with an amount did, as where an operator stops a user."""
    num_asked: int | None
    """Amount that was asked of the limit; null: unknown."""
    retry_after_s: int
    """0: waiting does not help."""
    num_requests: int
    """Answers that the call asked for."""
    surface: str
    model: str
    key: str
    """The visible prefix of the call's key; empty: it came with a sign-in."""


def note(user_id: int, refusal: PastRefusal) -> None:
    """Keep a refusal. Without Redis it is lost: the refused call has its answer all the same."""
    key = _key(user_id)
    pipeline = _client().pipeline()
    pipeline.lpush(key, msgspec.json.encode(refusal))
    pipeline.ltrim(key, 0, MAX_KEPT - 1)
    pipeline.expire(key, KEPT_S)
    with suppress(RedisError):
        pipeline.execute()


def refusal_of(refused: Refused, num_requests: int, surface: str, model: str, key: str) -> PastRefusal:
    return PastRefusal(
        at_unix_us=unix_us(),
        code=refused.code,
        limit=refused.by,
        num_asked=refused.num_asked,
        retry_after_s=refused.retry_after_s,
        num_requests=num_requests,
        surface=surface,
        model=model,
        key=key,
    )


def recent_refusals_of(user_id: int) -> list[PastRefusal]:
    """Return the refusals of the last day, the newest first. Raises RedisError."""
    rows: Any = _client().lrange(_key(user_id), 0, -1)
    since_us = int((time.time() - KEPT_S) * 1e6)
    found = (msgspec.json.decode(row, type=PastRefusal) for row in rows)
    return [refusal for refusal in found if refusal.at_unix_us >= since_us]


def _key(user_id: int) -> str:
    return f"{PREFIX}refused:{user_id}"


@cache
def _client() -> redis.Redis:
    return connect(settings.ENVIRONMENT.redis_url)
