"""Puts a log back to its first frames, as a server does that lost its last writes, or all of them."""

from __future__ import annotations

from contextlib import suppress

import redis

from inference.eventlog.entry import BEGINNING
from inference.eventlog.event_log import EventLog, LogLost
from inference.eventlog.keys import commands_key, log_key, meta_key
from inference.eventlog.memory import MemoryEventLog


def lose(log: EventLog, request_id: str, num_left: int, client: redis.Redis | None = None, attempt: int = 1) -> None:
    """client: of the log's server, where it has one. attempt: the fence that is left with the frames."""
    left = log.entries(request_id)[:num_left]
    if isinstance(log, MemoryEventLog):
        log.lose(request_id)
    else:
        assert client is not None
        client.delete(log_key(request_id), meta_key(request_id), commands_key(request_id))
    if left:
        with suppress(LogLost):  # a live worker was quicker, and found it empty
            log.put_back(request_id, attempt, "", BEGINNING, left)
