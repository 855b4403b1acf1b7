"""The state of each comparison in Redis, and the few that are open at once on the site.

Each change is one script, which looks at the state first: a cancelled comparison stays cancelled, and only the newest
run of a comparison can end it. An open one has a deadline by Redis's clock, which its run moves. Knows nothing of
prices.

    waiting -> running -> done, failed     a run takes it, moves its deadline and ends it
    waiting, running -> cancelled          its reader, or the reader's next comparison
    waiting, running -> waiting            its deadline passed: it is queued again
    running -> failed                      that happened to MAX_RUNS runs
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from inference.eventlog.keys import PREFIX
from webapp.requests.workers import client

State = Literal["waiting", "running", "done", "cancelled", "failed"]

MAX_OPEN = 4
"""Open comparisons of the whole site: half the threads of one lifecycle worker, so that requests still settle."""
MAX_RUNS = 2
"""The first run may be lost with its process. A second loss is likely to be its own fault."""
LEASE_S = 20
"""A run looks in several times a second. One that is silent so long is lost."""
PATIENCE_S = 30
"""A message that no process has taken for so long is sent again: it may be lost."""
_KEPT_S = 3600
"""A comparison can be read for so long."""
_TAG = f"{PREFIX}{{repricings}}"
_OPEN = f"{_TAG}:open"
"""Sorted set: the open comparisons by deadline, in ms since the epoch by Redis's clock."""

_CLOCK = """
local clock = redis.call('TIME')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
"""

# KEYS: open, comparison, its reader's last. ARGV: id, most open, patience in ms, seconds kept, then fields by turns.
# Returns 0 where too many are open. A comparison that is no longer its reader's last begins cancelled.
_ENTER = (
    _CLOCK
    + """
local is_last = redis.call('GET', KEYS[3]) == ARGV[1]
if is_last and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[2], 'state', is_last and 'waiting' or 'cancelled', 'runs', 0, unpack(ARGV, 5))
redis.call('EXPIRE', KEYS[2], ARGV[4])
if is_last then redis.call('ZADD', KEYS[1], now_ms + ARGV[3], ARGV[1]) end
return 1
"""
)

# KEYS: open, comparison. ARGV: id, lease in ms. Returns the run's number; 0: it is not waiting.
_TAKE = (
    _CLOCK
    + """
if redis.call('HGET', KEYS[2], 'state') ~= 'waiting' then return 0 end
redis.call('HSET', KEYS[2], 'state', 'running')
redis.call('ZADD', KEYS[1], now_ms + ARGV[2], ARGV[1])
return redis.call('HINCRBY', KEYS[2], 'runs', 1)
"""
)

# KEYS: open, comparison. ARGV: id, run, lease in ms, requests done. Returns 0 where the run is to stop.
_KEEP = (
    _CLOCK
    + """
local found = redis.call('HMGET', KEYS[2], 'state', 'runs')
if found[1] ~= 'running' or found[2] ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[2], 'done', ARGV[4])
redis.call('ZADD', KEYS[1], now_ms + ARGV[3], ARGV[1])
return 1
"""
)

# KEYS: open, comparison. ARGV: id, run (empty: its reader ends it), then fields by turns.
_END = """
local found = redis.call('HMGET', KEYS[2], 'state', 'runs')
if ARGV[2] == '' and found[1] ~= 'waiting' and found[1] ~= 'running' then return 0 end
if ARGV[2] ~= '' and (found[1] ~= 'running' or found[2] ~= ARGV[2]) then return 0 end
redis.call('HSET', KEYS[2], unpack(ARGV, 3))
redis.call('ZREM', KEYS[1], ARGV[1])
return 1
"""

# KEYS: open, comparison. ARGV: id, most runs, patience in ms. Returns `waiting` or `failed` where it was lost.
_REVIVE = (
    _CLOCK
    + """
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or now_ms + 1) > now_ms then return false end
redis.call('ZREM', KEYS[1], ARGV[1])
local runs = redis.call('HGET', KEYS[2], 'runs')
if not runs then return false end
local state = tonumber(runs) < tonumber(ARGV[2]) and 'waiting' or 'failed'
redis.call('HSET', KEYS[2], 'state', state, 'done', 0)
if state == 'waiting' then redis.call('ZADD', KEYS[1], now_ms + ARGV[3], ARGV[1]) end
return state
"""
)


class TooManyOpen(Exception):
    """As many comparisons are open as the site runs at once."""


class Lost(NamedTuple):
    """A comparison that no process works on."""

    work_id: str
    state: State
    """waiting: it is to be queued again. failed: its last run is lost too."""


class Run(NamedTuple):
    """One try to compute a comparison."""

    work_id: str
    number: int


def replace_last(user_id: int, work_id: str) -> str | None:
    """Make a comparison its reader's last one; return the one before. Raises RedisError."""
    before: Any = client().getset(_last_key(user_id), work_id)
    client().expire(_last_key(user_id), _KEPT_S)
    return before or None


def enter(user_id: int, work_id: str, facts: Mapping[str, Any]) -> None:
    """Note a comparison that waits. Raises TooManyOpen, RedisError."""
    fields = [part for pair in facts.items() for part in pair]
    arguments = [work_id, MAX_OPEN, PATIENCE_S * 1000, _KEPT_S, *fields]
    if not _script(_ENTER)(keys=[*_keys(work_id), _last_key(user_id)], args=arguments):
        raise TooManyOpen(f"The site compares {MAX_OPEN} periods at once, and as many are open.")


def read(work_id: str) -> dict[str, str]:
    """A comparison's fields; empty: there is none. Raises RedisError."""
    found: Any = client().hgetall(_keys(work_id)[1])
    return dict(found)


def take(work_id: str) -> Run | None:
    """Begin a run. None: the comparison does not wait. Raises RedisError."""
    number: Any = _script(_TAKE)(keys=_keys(work_id), args=[work_id, LEASE_S * 1000])
    return Run(work_id, int(number)) if number else None


def keep(run: Run, num_done: int) -> bool:
    """Note how far a run is. False: it is to stop. Raises RedisError."""
    return bool(_script(_KEEP)(keys=_keys(run.work_id), args=[*run, LEASE_S * 1000, num_done]))


def end(run: Run, state: State, **facts: Any) -> None:
    """End a comparison, unless it has another run by now, or was cancelled. Raises RedisError."""
    fields = [part for pair in {"state": state, **facts}.items() for part in pair]
    _script(_END)(keys=_keys(run.work_id), args=[*run, *fields])


def cancel(work_id: str) -> None:
    """Cancel a comparison that is open. Raises RedisError."""
    _script(_END)(keys=_keys(work_id), args=[work_id, "", "state", "cancelled"])


def revive() -> list[Lost]:
    """Let those with a passed deadline wait again, or fail. Raises RedisError."""
    found: Any = client().zrange(_OPEN, 0, -1)
    states = {each: _script(_REVIVE)(keys=_keys(each), args=[each, MAX_RUNS, PATIENCE_S * 1000]) for each in found}
    return [Lost(work_id, state) for work_id, state in states.items() if state]


@cache
def _script(text: str) -> Any:
    return client().register_script(text)


def _keys(work_id: str) -> list[str]:
    return [_OPEN, f"{_TAG}:{work_id}"]


def _last_key(user_id: int) -> str:
    return f"{_TAG}:of:{user_id}"
