"""Pictures on their way to an inference worker, by their digest: its task's message and the log only name them.

The site lays them ready for each attempt that needs them, and its worker takes them away. Those that no worker takes
expire. Knows nothing of where they are kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import redis

from inference.eventlog.keys import pictures_key

_MOST_SHARE = 0.5
"""Share of the server's memory above which no picture is laid there: the rest is for logs and queues."""


class PictureGone(Exception):
    """A picture is not ready, or is not the one that was named."""


class NoRoomForPictures(Exception):
    """The server's memory has no room for pictures now."""

    def __init__(self) -> None:
        super().__init__("The server has no memory for more pictures now. Send it again in a minute.")


class Pictures(Protocol):
    """Lays pictures ready, and takes them up."""

    def put(self, request_id: str, attempt: int, pictures: Mapping[str, bytes], expiry_s: int) -> None:
        """Lay pictures ready by their digests. Raises NoRoomForPictures, RedisError."""

    def take(self, request_id: str, attempt: int, digests: Sequence[str]) -> dict[str, bytes]:
        """Return these pictures, which are gone then. Raises PictureGone, RedisError."""

    def keep(self, request_id: str, expiry_s: int) -> None:
        """Let the request's pictures live for so long from now on, where there are any. Raises RedisError."""

    def drop(self, request_id: str) -> None:
        """Delete the request's pictures, of all attempts. Raises RedisError."""


class MemoryPictures:
    """Pictures in this process, for tests."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, bytes]] = {}

    def put(self, request_id: str, attempt: int, pictures: Mapping[str, bytes], expiry_s: int) -> None:
        own = self._found.setdefault(request_id, {})
        own |= {_field(attempt, digest): data for digest, data in pictures.items()}

    def take(self, request_id: str, attempt: int, digests: Sequence[str]) -> dict[str, bytes]:
        own = self._found.get(request_id, {})
        return {each: _checked(each, own.pop(_field(attempt, each), None)) for each in dict.fromkeys(digests)}

    def keep(self, request_id: str, expiry_s: int) -> None:
        pass

    def drop(self, request_id: str) -> None:
        self._found.pop(request_id, None)


class RedisPictures:
    """Pictures in Redis: site and workers may run on different machines, and share no folder."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def put(self, request_id: str, attempt: int, pictures: Mapping[str, bytes], expiry_s: int) -> None:
        self._check_room(sum(map(len, pictures.values())))
        key = pictures_key(request_id)
        # One by one: together they may take longer than a command's time limit.
        for digest, data in pictures.items():
            pipeline = self._client.pipeline()  # the key has its end from the first picture on
            pipeline.hset(key, _field(attempt, digest), data)
            pipeline.expire(key, expiry_s)
            pipeline.execute()

    def take(self, request_id: str, attempt: int, digests: Sequence[str]) -> dict[str, bytes]:
        key, names = pictures_key(request_id), dict.fromkeys(digests)
        found = {each: _checked(each, self._client.hget(key, _field(attempt, each))) for each in names}
        self._client.hdel(key, *(_field(attempt, each) for each in names))
        return found

    def keep(self, request_id: str, expiry_s: int) -> None:
        self._client.expire(pictures_key(request_id), expiry_s)

    def drop(self, request_id: str) -> None:
        self._client.unlink(pictures_key(request_id))

    def _check_room(self, num_bytes: int) -> None:
        """Raises NoRoomForPictures. A server without a limit has room."""
        told: Any = self._client.info("memory")
        limit = told.get("maxmemory", 0)
        if limit and told["used_memory"] + num_bytes > limit * _MOST_SHARE:
            raise NoRoomForPictures


def _field(attempt: int, digest: str) -> str:
    return f"{attempt}:{digest}"


def _checked(digest: str, data: object) -> bytes:
    if not isinstance(data, bytes) or hashlib.sha256(data).hexdigest() != digest:
        raise PictureGone(f"The picture {digest[:12]} is not at hand any more. Send the message again.")
    return data
