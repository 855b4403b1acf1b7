"""The event log in a Redis-compatible server: one stream and one small hash per request.

Fencing and numbering happen in one script, because web site and worker append to the same log and stream ids alone
are not gapless. After a lost reply the append is sent again: the script knows each writer's last one, so that a frame
never stands in the log twice. A writer is a thread, since each thread waits for its reply. Knows nothing of readers.
"""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from inference.eventlog.event_log import (
    EXPIRY_S,
    MAX_COMMANDS,
    OPEN_EXPIRY_S,
    RETIRED_EXPIRY_S,
    Fenced,
    LogLost,
)
from inference.eventlog.keys import commands_key, log_key, meta_key, parse_entry
from inference.protocol.codec import (
    decode_events,
    decode_step,
    encode_events,
    encode_step,
)
from inference.protocol.events import AnyEvent, Frame
from inference.protocol.request import StepCommand

# KEYS: meta, log. ARGV: attempt, number of events (0: fence only), events, expiry in s, writer, the writer's count of
# appends, the last seq that the writer knows, 1 if the frame is to follow it. Returns last seq or an error.
_APPEND = """
local owner = tonumber(redis.call('HGET', KEYS[1], 'attempt') or '0')
local attempt = tonumber(ARGV[1])
if attempt < owner then return redis.error_reply('FENCED by attempt ' .. owner) end
local count, known = tonumber(ARGV[2]), tonumber(ARGV[7])
local last = tonumber(redis.call('HGET', KEYS[1], 'seq') or '0')
if count > 0 then
  local writer = 'writer:' .. ARGV[5]
  local number, appended = string.match(redis.call('HGET', KEYS[1], writer) or '', '^(%d+):(%d+)$')
  if number == ARGV[6] then return tonumber(appended) end
  if last < known then return redis.error_reply('LOST: it ends at ' .. last .. ', before ' .. known) end
  if ARGV[8] == '1' and last > known then return redis.error_reply('FENCED: it goes on after ' .. last) end
  last = last + count
  redis.call('XADD', KEYS[2], last .. '-0', 'seq', last - count + 1, 'events', ARGV[3])
  redis.call('HSET', KEYS[1], 'seq', last, writer, ARGV[6] .. ':' .. last)
  redis.call('EXPIRE', KEYS[2], ARGV[4])
end
if attempt > owner then redis.call('HSET', KEYS[1], 'attempt', attempt) end
redis.call('EXPIRE', KEYS[1], ARGV[4])
return last
"""

# KEYS: meta. ARGV: attempt, claim. Returns the claim that owns the attempt, also when the first try's reply was lost.
_CLAIM = """
local owner = tonumber(redis.call('HGET', KEYS[1], 'attempt') or '0')
if tonumber(ARGV[1]) < owner then return redis.error_reply('FENCED by attempt ' .. owner) end
if not redis.call('HGET', KEYS[1], 'seq') then return redis.error_reply('LOST: there is no log') end
redis.call('HSETNX', KEYS[1], 'claim:' .. ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[1], 'claim:' .. ARGV[1])
"""

_NUM_BACKWARDS = 8
"""Frames fetched at once by a reader that looks for one near the end."""
_SOCKET_TIMEOUT_S = 10


class RedisEventLog:
    """EventLog on a redis-py client that does not decode responses."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._append = client.register_script(_APPEND)
        self._claim = client.register_script(_CLAIM)
        self._writers = threading.local()
        self._numbers = itertools.count(1)

    @classmethod
    def from_url(cls, url: str, max_connections: int = 64, num_retries: int = 3) -> RedisEventLog:
        """Return a log with its own pool, which makes callers wait rather than fail when all connections are in use.

        A failed connection is tried again after 0.1 s, 0.2 s and so on up to 1 s.
        """
        options: dict[str, Any] = {
            "socket_timeout": _SOCKET_TIMEOUT_S,
            "retry": Retry(ExponentialBackoff(cap=1, base=0.05), num_retries),
            "retry_on_error": [redis.ConnectionError, redis.TimeoutError, OSError],
        }
        pool = redis.BlockingConnectionPool.from_url(url, max_connections=max_connections, timeout=10, **options)
        return cls(redis.Redis(connection_pool=pool))

    def open(self, request_id: str, attempt: int) -> None:
        self.fence(request_id, attempt)

    def append(
        self, request_id: str, events: Sequence[AnyEvent], attempt: int, known: int = 0, is_next: bool = False
    ) -> int:
        if not events:
            raise ValueError("an append needs at least one event")
        return self._run(request_id, attempt, len(events), encode_events(events), known, is_next)

    def fence(self, request_id: str, attempt: int) -> None:
        self._run(request_id, attempt, 0, b"", 0, False)

    def _run(self, request_id: str, attempt: int, num_events: int, events: bytes, known: int, is_next: bool) -> int:
        keys = [meta_key(request_id), log_key(request_id)]
        number = next(self._numbers)
        args: list[int | str | bytes] = [attempt, num_events, events, OPEN_EXPIRY_S, self._writer(), number, known]
        with _refusals(request_id):
            return int(self._append(keys=keys, args=[*args, int(is_next)]))

    def _writer(self) -> str:
        """Return the name of this thread as a writer."""
        if not hasattr(self._writers, "name"):
            self._writers.name = secrets.token_hex(4)
        return str(self._writers.name)

    def claim(self, request_id: str, attempt: int) -> bool:
        claim = f"{self._writer()}:{next(self._numbers)}"
        with _refusals(request_id):
            owner: Any = self._claim(keys=[meta_key(request_id)], args=[attempt, claim])
        return bool(owner == claim.encode())

    def is_claimed(self, request_id: str, attempt: int) -> bool:
        return bool(self._client.hexists(meta_key(request_id), f"claim:{attempt}"))

    def cancel(self, request_id: str) -> None:
        pipeline = self._client.pipeline()
        pipeline.hset(meta_key(request_id), "cancelled", "1")
        pipeline.expire(meta_key(request_id), OPEN_EXPIRY_S)
        pipeline.execute()

    def is_cancelled(self, request_ids: Sequence[str]) -> list[bool]:
        pipeline = self._client.pipeline(transaction=False)
        for request_id in request_ids:
            pipeline.hget(meta_key(request_id), "cancelled")
        return [flag == b"1" for flag in pipeline.execute()]

    def command(self, request_id: str, command: StepCommand) -> None:
        pipeline = self._client.pipeline()
        pipeline.rpush(commands_key(request_id), encode_step(command))
        pipeline.ltrim(commands_key(request_id), 0, MAX_COMMANDS - 1)
        pipeline.expire(commands_key(request_id), EXPIRY_S)
        pipeline.execute()

    def commands(self, request_id: str, after: int) -> list[StepCommand]:
        rows: Any = self._client.lrange(commands_key(request_id), after, -1)
        return [decode_step(row) for row in rows]

    def read(self, request_id: str, after: int = 0) -> list[Frame]:
        rows: Any = self._client.xrange(log_key(request_id), min=f"({after}-0" if after else "-")
        return [_frame(*row) for row in rows]

    def read_backwards(self, request_id: str) -> Iterator[Frame]:
        rows: Any = self._client.xrevrange(log_key(request_id), count=_NUM_BACKWARDS)
        while rows:
            yield from (_frame(*row) for row in rows)
            before = f"({rows[-1][0].decode()}"
            rows = self._client.xrevrange(log_key(request_id), max=before, count=_NUM_BACKWARDS)

    def retire(self, request_id: str) -> None:
        pipeline = self._client.pipeline()
        pipeline.expire(log_key(request_id), RETIRED_EXPIRY_S)
        pipeline.expire(meta_key(request_id), EXPIRY_S)
        pipeline.execute()

    def forget(self, request_id: str) -> None:
        pipeline = self._client.pipeline()
        pipeline.delete(log_key(request_id), commands_key(request_id))
        pipeline.expire(meta_key(request_id), EXPIRY_S)
        pipeline.execute()

    def last_seq(self, request_id: str) -> int:
        value: Any = self._client.hget(meta_key(request_id), "seq")
        return int(value or 0)


@contextmanager
def _refusals(request_id: str) -> Iterator[None]:
    """Translate a script's refusal. Raises Fenced or LogLost where a script says so."""
    try:
        yield
    except redis.ResponseError as error:
        if "FENCED" in str(error):
            raise Fenced(f"{request_id}: {error}") from None
        if "LOST" in str(error):
            raise LogLost(f"{request_id}: {error}") from None
        raise


def _frame(entry_id: bytes, fields: Mapping[bytes, bytes]) -> Frame:
    entry = parse_entry(entry_id, fields)
    return Frame(seq=entry.seq, events=decode_events(entry.events))
