"""What Redis holds of a user: logs, probe results, locks, queued messages. Knows nothing of the database's rows."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import redis
from django.conf import settings

from inference.eventlog.connections import connect
from inference.eventlog.keys import PREFIX
from webapp.requests.queues import QUEUES, generate_queues

_REQUEST = re.compile(rb"req_[0-9A-Za-z]{22}")
_SHARED = tuple(f"{PREFIX}{name}:*" for name in ("check", "simulation", "experiment"))
"""Results under a digest of question and user, which names neither. Each lives for minutes; a reader asks again."""
_OWN = tuple(f"{PREFIX}{name}" for name in ("preview:{}", "export:{}", "learn:{}:*", "recent:*:user:{}", "refused:{}"))
_AT_ONCE = 500

Owned = Callable[[set[str]], set[str]]
"""Of these request ids, those of the user."""


def forget(user_id: int, owned: Owned) -> int:
    """Delete the user's keys and queued messages; return their number. Raises RedisError."""
    client = _client()
    num = sum(_delete(client, keys) for keys in _of_requests(client, owned))
    own = [key for pattern in _OWN for key in client.scan_iter(pattern.format(user_id), count=_AT_ONCE)]
    num += _delete(client, own)
    return num + sum(_take_out(client, queue, user_id, owned) for queue in (*QUEUES, *generate_queues()))


def rewrite_file() -> bool:
    """Have Redis write its append-only file anew, without what was deleted; False while it writes one already.

    Raises RedisError.
    """
    client = _client()
    persistence: Any = client.info("persistence")
    if not persistence["aof_enabled"]:
        return True
    if persistence["aof_rewrite_in_progress"] or persistence["aof_rewrite_scheduled"]:
        return False
    client.bgrewriteaof()
    return True


def forget_shared() -> None:
    """Delete results that may be any user's. Raises RedisError."""
    for pattern in _SHARED:
        _delete(_client(), list(_client().scan_iter(pattern, count=_AT_ONCE)))


def _of_requests(client: redis.Redis, owned: Owned) -> Iterator[list[bytes]]:
    """The keys whose name has one of the user's requests."""
    for keys in _batches(client.scan_iter(f"{PREFIX}*req_*", count=_AT_ONCE)):
        named = {key: found[0].decode() for key in keys if (found := _REQUEST.search(key))}
        mine = owned(set(named.values()))
        yield [key for key, request_id in named.items() if request_id in mine]


def _take_out(client: redis.Redis, queue: str, user_id: int, owned: Owned) -> int:
    """Delete the user's messages of a queue, which may hold a whole prompt."""
    messages: Any = client.lrange(queue, 0, -1)
    of_user = re.compile(rb'user:%d(?!\d)|"user\\*":\s*%d(?!\d)' % (user_id, user_id))
    num = 0
    for message in messages:
        content = _content(message)
        ids = {found.decode() for found in _REQUEST.findall(content)}
        if of_user.search(content) or owned(ids):
            num += int(client.lrem(queue, 0, message))
    return num


def _content(message: bytes) -> bytes:
    """A Celery message's own content; the message itself where it is none."""
    try:
        return base64.b64decode(json.loads(message)["body"]) + message
    except (ValueError, KeyError, TypeError):
        return message


def _delete(client: redis.Redis, keys: list[bytes]) -> int:
    return int(client.delete(*keys)) if keys else 0


def _batches(keys: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    for key in keys:
        batch.append(key)
        if len(batch) >= _AT_ONCE:
            yield batch
            batch = []
    yield batch


@cache
def _client() -> redis.Redis:
    return connect(settings.ENVIRONMENT.redis_url)
