"""The leases of open requests: each one's next sign of life is due by a deadline.

The process that works on a request renews its lease. When a deadline has passed, the watchdog decides from the log what
is next (webapp/lifecycle/advance.py). Deadlines count by the clock of Redis alone: machines' clocks are not compared.
One sorted set holds all of them, so that no log and no row is read to find those that are due (Gray and Cheriton,
Leases, SOSP 1989). Knows nothing of logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import redis

from inference.eventlog.keys import LEASE_ATTEMPTS, LEASES

# KEYS: deadlines, attempts. ARGV: duration in ms, is_renewal, then request and attempt by turns. An attempt renews only
# the lease that it holds. Returns the number of leases written.
_WRITE = """
local now = redis.call('TIME')
local deadline = now[1] * 1000 + math.floor(now[2] / 1000) + tonumber(ARGV[1])
local count = 0
for at = 3, #ARGV, 2 do
  local owner = redis.call('HGET', KEYS[2], ARGV[at])
  if ARGV[2] == '0' and (not owner or tonumber(owner) <= tonumber(ARGV[at + 1])) or owner == ARGV[at + 1] then
    redis.call('ZADD', KEYS[1], deadline, ARGV[at])
    redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1])
    count = count + 1
  end
end
return count
"""

# KEYS: deadlines. ARGV: most to return. Returns request and deadline by turns, the longest overdue first.
_OVERDUE = """
local now = redis.call('TIME')
local now_ms = now[1] * 1000 + math.floor(now[2] / 1000)
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now_ms, 'WITHSCORES', 'LIMIT', 0, ARGV[1])
"""

# KEYS: deadlines. ARGV: request, the deadline that was seen, duration in ms. Returns 1 to the first of several callers.
_TAKE = """
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '-1') ~= tonumber(ARGV[2]) then return 0 end
local now = redis.call('TIME')
redis.call('ZADD', KEYS[1], now[1] * 1000 + math.floor(now[2] / 1000) + tonumber(ARGV[3]), ARGV[1])
return 1
"""

_MOST_OVERDUE = 1000
"""Requests returned at once. The next call finds the rest."""


class Holding(NamedTuple):
    """A request's attempt, which holds its lease."""

    request_id: str
    attempt: int


class Leases(Protocol):
    """The leases of all open requests. Every method raises RedisError."""

    def grant(self, request_id: str, attempt: int, duration_s: float) -> bool:
        """Give the lease to an attempt for duration_s from now. Return False where a later attempt holds it."""

    def renew(self, holdings: Iterable[Holding], duration_s: float) -> int:
        """Move deadlines to duration_s from now; return the number of attempts that still hold their lease."""

    def end(self, request_id: str) -> None:
        """Remove a settled request's lease."""

    def overdue(self) -> dict[str, float]:
        """Return the requests whose deadline has passed, and the deadlines."""

    def take(self, request_id: str, deadline: float, duration_s: float) -> bool:
        """Move an overdue request's deadline to duration_s from now; False where another caller moved it before."""

    def missing(self, request_ids: Sequence[str]) -> list[str]:
        """Return those of the requests that have no lease."""


class RedisLeases:
    """Leases in a Redis-compatible server, through a redis-py client that does not decode responses."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._write = client.register_script(_WRITE)
        self._overdue = client.register_script(_OVERDUE)
        self._take = client.register_script(_TAKE)

    def grant(self, request_id: str, attempt: int, duration_s: float) -> bool:
        return self._set([Holding(request_id, attempt)], duration_s, is_renewal=False) == 1

    def renew(self, holdings: Iterable[Holding], duration_s: float) -> int:
        return self._set(holdings, duration_s, is_renewal=True)

    def _set(self, holdings: Iterable[Holding], duration_s: float, is_renewal: bool) -> int:
        rows = [field for holding in holdings for field in holding]
        if not rows:
            return 0
        args = [round(duration_s * 1000), int(is_renewal), *rows]
        return int(self._write(keys=[LEASES, LEASE_ATTEMPTS], args=args))

    def end(self, request_id: str) -> None:
        pipeline = self._client.pipeline()
        pipeline.zrem(LEASES, request_id)
        pipeline.hdel(LEASE_ATTEMPTS, request_id)
        pipeline.execute()

    def overdue(self) -> dict[str, float]:
        rows: Any = self._overdue(keys=[LEASES], args=[_MOST_OVERDUE])
        return {rows[at].decode(): float(rows[at + 1]) for at in range(0, len(rows), 2)}

    def take(self, request_id: str, deadline: float, duration_s: float) -> bool:
        return bool(self._take(keys=[LEASES], args=[request_id, deadline, round(duration_s * 1000)]))

    def missing(self, request_ids: Sequence[str]) -> list[str]:
        if not request_ids:
            return []
        found: Any = self._client.zmscore(LEASES, list(request_ids))
        return [request_id for request_id, deadline in zip(request_ids, found, strict=True) if deadline is None]
