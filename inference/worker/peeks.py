"""Answers questions about the part of a prompt in the prefix cache, while the engine runs. Knows nothing of clients."""

from __future__ import annotations

import logging
from threading import Event

import msgspec
import redis

from inference.backends.backend import Backend
from inference.eventlog.connections import connect
from inference.eventlog.keys import peeks_key
from inference.protocol.peek import decode_peek

logger = logging.getLogger(__name__)

_LOOK_S = 1
"""Seconds between an idle thread's checks whether it should stop."""
_EXPIRY_S = 5
UNKNOWN = b""


def answer_peeks(redis_url: str, name: str, backend: Backend, is_stopping: Event) -> None:
    """Answer questions until the worker stops."""
    client = connect(redis_url)
    while not is_stopping.is_set():
        try:
            asked = client.blpop([peeks_key(name)], timeout=_LOOK_S)
            if asked:
                _answer(client, backend, asked[1])
        except redis.RedisError as error:
            logger.warning("no question about the cache can be heard: %s", error)
            is_stopping.wait(_LOOK_S)


def _answer(client: redis.Redis, backend: Backend, payload: bytes | str) -> None:
    try:
        peek = decode_peek(payload)
    except msgspec.DecodeError as error:
        logger.warning("a question about the cache cannot be read: %s", error)
        return
    num = backend.num_cached(peek.ids, peek.principal, peek.model)
    pipeline = client.pipeline()
    pipeline.rpush(peek.reply_to, UNKNOWN if num is None else num)
    pipeline.expire(peek.reply_to, _EXPIRY_S)
    pipeline.execute()
