"""The leases of open requests: each one's next sign of life is due by a deadline.

The process that works on a request renews its lease. When a deadline has passed, the watchdog decides from the log what
is next (webapp/lifecycle/advance.py). Deadlines count by the clock of Redis alone: machines' clocks are not compared.
One sorted set holds all of them, so that no log and no row is read to find those that are due (Gray and Cheriton,
Leases, SOSP 1989). A request's worker stands beside its lease, so that the loads of workers are exact. Knows nothing of
logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import redis

from inference.eventlog.keys import LEASE_ATTEMPTS, LEASE_WORKERS, LEASES, WORKER_LOADS

# Moves a request to another worker's load. Used by the scripts below; KEYS 3 and 4: workers, loads.
_PLACE = """
local function place(request, worker)
  local before = redis.call('HGET', KEYS[3], request)
  if before == worker then return end
  if before then
    if redis.call('HINCRBY', KEYS[4], before, -1) <= 0 then redis.call('HDEL', KEYS[4], before) end
    redis.call('HDEL', KEYS[3], request)
  end
  if worker then
    redis.call('HSET', KEYS[3], request, worker)
    redis.call('HINCRBY', KEYS[4], worker, 1)
  end
end
"""

# KEYS: deadlines, attempts, workers, loads. ARGV: request, attempt, duration in ms, and perhaps a worker. Returns 1, or
# 0 where a later attempt holds the lease.
_GRANT = """
local owner = redis.call('HGET', KEYS[2], ARGV[1])
if owner and tonumber(owner) > tonumber(ARGV[2]) then return 0 end
local now = redis.call('TIME')
redis.call('ZADD', KEYS[1], now[1] * 1000 + math.floor(now[2] / 1000) + tonumber(ARGV[3]), ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
if ARGV[4] == '' then place(ARGV[1], nil) elseif ARGV[4] then place(ARGV[1], ARGV[4]) end
return 1
"""

# KEYS: deadlines, attempts. ARGV: duration in ms, then request and attempt by turns. An attempt renews only the lease
# that it holds. Returns the number of leases renewed.
_RENEW = """
local now = redis.call('TIME')
local deadline = now[1] * 1000 + math.floor(now[2] / 1000) + tonumber(ARGV[1])
local count = 0
for at = 2, #ARGV, 2 do
  if redis.call('HGET', KEYS[2], ARGV[at]) == ARGV[at + 1] then
    redis.call('ZADD', KEYS[1], deadline, ARGV[at])
    count = count + 1
  end
end
return count
"""

# KEYS: deadlines, attempts, workers, loads. ARGV: request.
_END = """
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
place(ARGV[1], nil)
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

_KEYS = [LEASES, LEASE_ATTEMPTS, LEASE_WORKERS, WORKER_LOADS]
_MOST_OVERDUE = 1000
"""Requests returned at once. The next call finds the rest."""


class Holding(NamedTuple):
    """A request's attempt, which holds its lease."""

    request_id: str
    attempt: int


class Leases(Protocol):
    """The leases of all open requests. Every method raises RedisError."""

    def grant(self, request_id: str, attempt: int, duration_s: float, worker: str | None = None) -> bool:
        """Give the lease to an attempt for duration_s from now. Return False where a later attempt holds it.

        worker: the worker that the request is placed on from now on; empty: no worker; None: as before.
        """

    def renew(self, holdings: Iterable[Holding], duration_s: float) -> int:
        """Move deadlines to duration_s from now; return the number of attempts that still hold their lease."""

    def end(self, request_id: str) -> None:
        """Remove a settled request's lease, and take it off its worker."""

    def worker_of(self, request_id: str) -> str | None:
        """Return the worker that the request is placed on; None: no worker."""

    def loads(self, workers: Sequence[str]) -> list[int]:
        """Return the number of open requests placed on each worker."""

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
        self._grant = client.register_script(_PLACE + _GRANT)
        self._renew = client.register_script(_RENEW)
        self._end = client.register_script(_PLACE + _END)
        self._overdue = client.register_script(_OVERDUE)
        self._take = client.register_script(_TAKE)

    def grant(self, request_id: str, attempt: int, duration_s: float, worker: str | None = None) -> bool:
        placed = [] if worker is None else [worker]
        return bool(self._grant(keys=_KEYS, args=[request_id, attempt, _ms(duration_s), *placed]))

    def renew(self, holdings: Iterable[Holding], duration_s: float) -> int:
        rows = [field for holding in holdings for field in holding]
        return int(self._renew(keys=_KEYS, args=[_ms(duration_s), *rows])) if rows else 0

    def end(self, request_id: str) -> None:
        self._end(keys=_KEYS, args=[request_id])

    def worker_of(self, request_id: str) -> str | None:
        found: Any = self._client.hget(LEASE_WORKERS, request_id)
        return found.decode() if found else None

    def loads(self, workers: Sequence[str]) -> list[int]:
        found: Any = self._client.hmget(WORKER_LOADS, list(workers)) if workers else []
        return [int(load or 0) for load in found]

    def overdue(self) -> dict[str, float]:
        rows: Any = self._overdue(keys=[LEASES], args=[_MOST_OVERDUE])
        return {rows[at].decode(): float(rows[at + 1]) for at in range(0, len(rows), 2)}

    def take(self, request_id: str, deadline: float, duration_s: float) -> bool:
        return bool(self._take(keys=[LEASES], args=[request_id, deadline, _ms(duration_s)]))

    def missing(self, request_ids: Sequence[str]) -> list[str]:
        if not request_ids:
            return []
        found: Any = self._client.zmscore(LEASES, list(request_ids))
        return [request_id for request_id, deadline in zip(request_ids, found, strict=True) if deadline is None]


def _ms(duration_s: float) -> int:
    return round(duration_s * 1000)
