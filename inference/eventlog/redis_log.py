"""The event log in a Redis-compatible server: one stream and one small hash per request.

Fencing, numbering and the chain of digests happen in one script, because web site and worker append to the same log
and stream ids alone are not gapless. After a lost reply the append is sent again: the script knows each writer's last
one, so that a frame never stands in the log twice. A writer is a thread, since each thread waits for its reply. Knows
nothing of readers.
"""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import redis

from inference.eventlog.connections import PATIENCE_S, connect
from inference.eventlog.entry import BEGINNING, DIGEST_CHARS, Entry, Mark
from inference.eventlog.event_log import (
    EXPIRY_S,
    MAX_COMMANDS,
    NO_ATTEMPT,
    OPEN_EXPIRY_S,
    RETIRED_EXPIRY_S,
    Fenced,
    LogLost,
)
from inference.eventlog.keys import commands_key, log_key, meta_key, parse_entry
from inference.eventlog.scripts import APPEND, CLAIM, FENCE, PUT_BACK
from inference.protocol.codec import (
    decode_step,
    encode_events,
    encode_step,
)
from inference.protocol.events import AnyEvent, Frame
from inference.protocol.request import StepCommand

_NUM_BACKWARDS = 8
"""Frames fetched at once by a reader that looks for one near the end."""


class RedisEventLog:
    """EventLog on a redis-py client that does not decode responses."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._append = client.register_script(APPEND)
        self._put_back = client.register_script(PUT_BACK)
        self._fence = client.register_script(FENCE)
        self._claim = client.register_script(CLAIM)
        self._writers = threading.local()
        self._numbers = itertools.count(1)

    @classmethod
    def from_url(cls, url: str, patience_s: float = PATIENCE_S) -> RedisEventLog:
        """Return a log with its own connections. patience_s: a command is tried again for so long, once at least."""
        return cls(connect(url, patience_s=patience_s))

    def open(self, request_id: str, attempt: int) -> None:
        self.fence(request_id, attempt)

    def append(
        self,
        request_id: str,
        events: Sequence[AnyEvent],
        attempt: int,
        known: Mark = BEGINNING,
        is_next: bool = False,
        claim: str = "",
    ) -> Entry:
        if not events:
            raise ValueError("an append needs at least one event")
        encoded = encode_events(events)
        keys = [meta_key(request_id), log_key(request_id)]
        args: list[int | str | bytes] = [attempt, claim, OPEN_EXPIRY_S, int(is_next), self._writer()]
        args += [next(self._numbers), known.seq, known.digest]
        with _refusals(request_id):
            reply: Any = self._append(keys=keys, args=[*args, len(events), encoded, DIGEST_CHARS])
        last_seq, follows, digest = reply.decode().split(":")
        return Entry(int(last_seq), int(last_seq) + 1 - len(events), encoded, follows, digest)

    def put_back(self, request_id: str, attempt: int, claim: str, base: Mark, lost: Sequence[Entry]) -> None:
        args: list[int | str | bytes] = [attempt, claim, OPEN_EXPIRY_S, "", "", base.seq, base.digest]
        for entry in lost:
            args += [entry.last_seq, entry.seq, entry.events, entry.follows, entry.digest]
        with _refusals(request_id):
            self._put_back(keys=[meta_key(request_id), log_key(request_id)], args=args)

    def fence(self, request_id: str, attempt: int) -> None:
        with _refusals(request_id):
            self._fence(keys=[meta_key(request_id)], args=[attempt, "", OPEN_EXPIRY_S])

    def _writer(self) -> str:
        """Return the name of this thread as a writer."""
        if not hasattr(self._writers, "name"):
            self._writers.name = secrets.token_hex(4)
        return str(self._writers.name)

    def claim(self, request_id: str, attempt: int, claim: str = "") -> bool:
        claim = claim or f"{self._writer()}:{next(self._numbers)}"
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
        return [entry.frame for entry in self.entries(request_id, after)]

    def entries(self, request_id: str, after: int = 0) -> list[Entry]:
        rows: Any = self._client.xrange(log_key(request_id), min=f"({after}-0" if after else "-")
        return [parse_entry(*row) for row in rows]

    def read_backwards(self, request_id: str) -> Iterator[Frame]:
        rows: Any = self._client.xrevrange(log_key(request_id), count=_NUM_BACKWARDS)
        while rows:
            yield from (parse_entry(*row).frame for row in rows)
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
        pipeline.hset(meta_key(request_id), "attempt", str(NO_ATTEMPT))
        pipeline.expire(meta_key(request_id), EXPIRY_S)
        pipeline.execute()

    def mark(self, request_id: str) -> Mark:
        seq, digest = cast("list[bytes | None]", self._client.hmget(meta_key(request_id), "seq", "digest"))
        return Mark(int(seq or 0), (digest or b"").decode())

    def last_seq(self, request_id: str) -> int:
        return self.mark(request_id).seq


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
