"""A user's vectors in the process's memory, and their search. Knows nothing of texts.

The rows' version guards them: each search reads it first, and reads the rows again where it has changed. So a deleted
memory is found no more, whichever process deleted it. The search is exact: no index is built that could keep a row.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from inference.safety.minilm import NUM_DIMENSIONS, Floats
from webapp.content.memory.models import Memory

_MOST_USERS = 16
"""Users whose vectors stay. Those of 10,000 memories take 15 MB."""


@dataclass(frozen=True)
class Match:
    """A memory and its similarity to the text that was searched for, -1 to 1."""

    id: str
    similarity: float


@dataclass(frozen=True)
class Vectors:
    """A user's vectors of one version."""

    version: int
    ids: tuple[str, ...]
    is_enabled: NDArray[np.bool_]
    matrix: Floats
    """[num_memories, 384]"""

    def matches(self, vector: Floats, ids: Sequence[str]) -> list[Match]:
        """Those of the memories with these ids that there are, in this order."""
        wanted = set(ids)
        places = {each: at for at, each in enumerate(self.ids) if each in wanted} if wanted else {}
        found = [places[each] for each in ids if each in places]
        return [self._match(at, float(self.matrix[at] @ vector)) for at in found]

    def nearest(self, vector: Floats, num: int, enabled_only: bool) -> list[Match]:
        """The nearest memories, the nearest first."""
        found = self.matrix @ vector  # [num_memories]
        if enabled_only:
            found = np.where(self.is_enabled, found, -np.inf)
        order = np.argsort(-found, kind="stable")[:num]
        return [self._match(at, float(found[at])) for at in order if np.isfinite(found[at])]

    def _match(self, at: int, similarity: float) -> Match:
        return Match(self.ids[at], round(similarity, 4))


class VectorCache:
    """The vectors of the users that were searched last; safe between threads."""

    def __init__(self) -> None:
        self._by_user: OrderedDict[int, Vectors] = OrderedDict()
        self._lock = Lock()

    def of(self, user_id: int, version: int) -> Vectors:
        """The user's vectors, of this version or a later one."""
        with self._lock:
            known = self._by_user.get(user_id)
            if known is not None and known.version == version:
                self._by_user.move_to_end(user_id)
                return known
        read = _read(user_id, version)
        with self._lock:
            self._by_user[user_id] = read
            self._by_user.move_to_end(user_id)
            while len(self._by_user) > _MOST_USERS:
                self._by_user.popitem(last=False)
        return read

    def forget(self, user_id: int) -> None:
        """Drop the user's vectors."""
        with self._lock:
            self._by_user.pop(user_id, None)


def _read(user_id: int, version: int) -> Vectors:
    rows = list(Memory.objects.filter(user_id=user_id).order_by("pk").values_list("pk", "is_enabled", "vector"))
    matrix = np.frombuffer(b"".join(bytes(row[2]) for row in rows), "<f4").reshape(-1, NUM_DIMENSIONS)
    return Vectors(version, tuple(row[0] for row in rows), np.array([row[1] for row in rows], np.bool_), matrix)


@cache
def vector_cache() -> VectorCache:
    return VectorCache()
