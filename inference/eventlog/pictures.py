"""Pictures on their way to an inference worker, by their digest: its task's message and the log only name them.

The site lays them ready with each generation that needs them. They expire. Knows nothing of where they are kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol

import redis

from inference.eventlog.keys import picture_key


class PictureGone(Exception):
    """A picture is not ready, or is not the one that was named."""


class Pictures(Protocol):
    """Lays pictures ready, and takes them up."""

    def put(self, pictures: Mapping[str, bytes], expiry_s: int) -> None:
        """Lay pictures ready by their digests. Raises RedisError."""

    def get(self, digests: Sequence[str]) -> dict[str, bytes]:
        """Return these pictures. Raises PictureGone, RedisError."""


class MemoryPictures:
    """Pictures in this process, for tests."""

    def __init__(self) -> None:
        self._found: dict[str, bytes] = {}

    def put(self, pictures: Mapping[str, bytes], expiry_s: int) -> None:
        self._found |= pictures

    def get(self, digests: Sequence[str]) -> dict[str, bytes]:
        return {each: _checked(each, self._found.get(each)) for each in digests}


class RedisPictures:
    """Pictures in Redis: site and workers may run on different machines, and share no folder."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def put(self, pictures: Mapping[str, bytes], expiry_s: int) -> None:
        for digest, data in pictures.items():
            self._client.set(picture_key(digest), data, ex=expiry_s)

    def get(self, digests: Sequence[str]) -> dict[str, bytes]:
        # One by one: together they may take longer than a command's time limit.
        return {each: _checked(each, self._client.get(picture_key(each))) for each in dict.fromkeys(digests)}


def _checked(digest: str, data: object) -> bytes:
    if not isinstance(data, bytes) or hashlib.sha256(data).hexdigest() != digest:
        raise PictureGone(f"The picture {digest[:12]} is not at hand any more. Send the message again.")
    return data
