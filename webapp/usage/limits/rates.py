"""Rates a minute as buckets that fill evenly, in Redis: exact for any number of processes. Knows nothing of rules.

The time is Redis's own. A Redis that loses its data gives full buckets: a minute's amount at most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import redis
from django.conf import settings

from inference.eventlog.connections import connect
from inference.eventlog.keys import PREFIX
from webapp.usage.limits.rate_scripts import CORRECT, PER_UNIT, TAKE

Kind = Literal["requests", "input_tokens", "output_tokens"]
KINDS: tuple[Kind, ...] = ("requests", "input_tokens", "output_tokens")
_TAG = f"{PREFIX}{{limits}}"
"""One request takes from buckets of several subjects in one step, so a Cluster has all of them in one slot."""
_KEPT_MS = 3_600_000
"""A request's record is kept so long: longer than nearly every answer. Without it nothing is corrected."""


@dataclass(frozen=True)
class Bucket:
    """One rate of one subject."""

    subject: str
    """`user:5`, `group:2`, `group:2 owners`, `model:<id>`, `model:<id> user:5`, `key:<prefix>` or `site`."""
    kind: Kind
    limit: int
    """Units a minute, and the most that it holds."""

    @property
    def key(self) -> str:
        return f"{_TAG}:{self.kind}:{self.subject}"


@dataclass(frozen=True)
class Level:
    """A bucket at one moment of Redis's clock."""

    bucket: Bucket
    debt: int
    """What is missing to a full bucket, in parts of a unit."""
    now_ms: int

    @property
    def remaining(self) -> int:
        """Whole units that it holds."""
        return max(0, (self.bucket.limit * PER_UNIT - self.debt) // PER_UNIT)

    @property
    def full_at_unix_us(self) -> int:
        return (self.now_ms - (-self.debt // self.bucket.limit)) * 1000

    def after(self, amount: int) -> Level:
        return Level(self.bucket, self.debt + amount * PER_UNIT, self.now_ms)

    def wait_ms(self, amount: int) -> int | None:
        """Time until it holds so much. None: it never holds so much."""
        if amount > self.bucket.limit:
            return None
        missing = self.debt + amount * PER_UNIT - self.bucket.limit * PER_UNIT
        return max(0, -(-missing // self.bucket.limit))


@dataclass(frozen=True)
class Taking:
    """The reply to one try."""

    is_taken: bool
    levels: list[Level]
    """Each bucket before the first request."""


class Rates:
    """The buckets in one Redis-compatible server. Every method raises RedisError."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._take = client.register_script(TAKE)
        self._correct = client.register_script(CORRECT)

    def take(self, buckets: Sequence[Bucket], amounts: Mapping[str, Sequence[int]]) -> Taking:
        """Take from all buckets for all requests, or nothing.

        amounts: per request id the amount from each bucket. A second call for the same requests takes nothing more.
        """
        if not buckets:
            return Taking(True, [])
        keys = [*(bucket.key for bucket in buckets), *map(_record_key, amounts)]
        each = [amount for row in amounts.values() for amount in row]
        reply: Any = self._take(keys, [len(buckets), _KEPT_MS, *(bucket.limit for bucket in buckets), *each])
        now_ms, *debts = map(int, reply[1:])
        levels = [Level(bucket, debt, now_ms) for bucket, debt in zip(buckets, debts, strict=True)]
        return Taking(bool(reply[0]), levels)

    def levels(self, buckets: Sequence[Bucket]) -> list[Level]:
        """Read the buckets."""
        return self.take(buckets, {}).levels

    def correct(self, request_id: str, used: Callable[[Kind], int]) -> bool:
        """Replace what a request took by what it used, once. False: it took nothing, or was corrected before."""
        record = _record_key(request_id)
        found: Any = self._client.hkeys(record)
        keys = [key.decode() for key in found]
        return bool(keys) and bool(self._correct([record, *keys], [used(_kind_of(key)) for key in keys]))

    def give_back(self, request_id: str) -> bool:
        """Undo what a request took: it never began."""
        return self.correct(request_id, lambda _: 0)


@cache
def rates() -> Rates:
    return Rates(connect(settings.ENVIRONMENT.redis_url))


def _record_key(request_id: str) -> str:
    """Hash: by bucket `<limit>:<amount>:<ms of taking>:<debt before>`. Expires."""
    return f"{_TAG}:taken:{request_id}"


def _kind_of(key: str) -> Kind:
    name = key.removeprefix(f"{_TAG}:").split(":", 1)[0]
    return next(kind for kind in KINDS if kind == name)
