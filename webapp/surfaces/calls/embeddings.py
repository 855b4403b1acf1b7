"""Computes vectors of texts by the bundled model. Knows nothing of requests.

One thread of the process computes, a few texts at a time. So long lists take turns with short ones, and the other
cores are the engine's.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TypeVar

import numpy as np

from inference.safety.minilm import LONGEST, NUM_DIMENSIONS, Floats, SafetyModelError
from webapp.ground.gateway.errors import ApiError
from webapp.models.registry.offered import EMBEDDING_MODEL
from webapp.requests.services import minilm

DIMENSIONS = NUM_DIMENSIONS
MAX_TEXTS = 2048
MAX_TOKENS = 1 << 16
"""Tokens of one call: some 10 seconds of a busy core."""
MAX_TEXT_CHARS = 100 * LONGEST
"""Characters of one text. The longest words that the model knows as one token have fewer than 100."""
MAX_CHARS = 8 * MAX_TOKENS
"""Characters of one call: a token of English has 4."""
_MOST_WAITING = 8 * MAX_TOKENS
MOST_OF_ONE = 2 * MAX_TOKENS
"""Tokens that wait in one process, of all users and of one. Further calls are refused."""
_AT_ONCE = 8
"""Texts that the thread computes before another call has its turn."""

Given = TypeVar("Given")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Computed:
    """The vectors of a call's texts, in their order."""

    vectors: Floats
    computed_us: int
    """Time in which the thread computed them."""


class Embedder:
    """Computes embeddings for all calls of a process."""

    def __init__(self) -> None:
        """Raises SafetyModelError."""
        self._model = minilm()
        self._thread = ThreadPoolExecutor(1, "embeddings")
        self._waiting: Counter[int] = Counter()
        """Tokens by user."""
        self._lock = Lock()
        """Lines of batches are embedded in threads of their own."""

    @property
    def num_waiting(self) -> int:
        """Tokens of all calls that are not answered yet."""
        return self._waiting.total()

    async def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return each text's tokens. Raises ApiError, which names a text with too many characters."""
        _check_chars(texts)
        return [each for some in _few(texts) for each in await self._run(self._ids, some)]

    async def compute(self, ids: Sequence[list[int]], user_id: int) -> Computed:
        """Raises ApiError, which names a text with too many tokens."""
        num_tokens = _checked(ids)
        with self._lock:
            self._check_room(num_tokens, user_id)
            self._waiting[user_id] += num_tokens
        try:
            parts = [await self._run(self._vectors, some) for some in _few(ids)]
        finally:
            with self._lock:
                self._waiting[user_id] -= num_tokens
                self._waiting += Counter()  # forgets users without any
        return Computed(np.concatenate([part.vectors for part in parts]), sum(part.computed_us for part in parts))

    def _check_room(self, num_tokens: int, user_id: int) -> None:
        of_one, of_all = self._waiting[user_id] + num_tokens, self.num_waiting + num_tokens
        if of_one > MOST_OF_ONE or of_all > _MOST_WAITING:
            message = "Too many texts wait to be embedded. Try again in a few seconds."
            raise ApiError(429, "too_many_requests", message, retry_after_s=5)

    def _vectors(self, ids: Sequence[list[int]]) -> Computed:
        start_ns = time.perf_counter_ns()
        vectors = self._model.embed_ids(ids)
        return Computed(vectors, (time.perf_counter_ns() - start_ns) // 1000)

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [self._model.ids(text) for text in texts]

    async def _run(self, work: Callable[[Given], Made], given: Given) -> Made:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, given)


def _few(values: Sequence[Given]) -> Iterator[Sequence[Given]]:
    return (values[start : start + _AT_ONCE] for start in range(0, len(values), _AT_ONCE))


def _check_chars(texts: Sequence[str]) -> None:
    """Refuse what is too long by any count of tokens, before it is tokenized. Raises ApiError."""
    for index, text in enumerate(texts):
        if len(text) > MAX_TEXT_CHARS:
            limit = f"{EMBEDDING_MODEL} reads {LONGEST} tokens at most"
            message = f"The text has {len(text):,} characters; {limit}. Split the text."
            raise ApiError(400, "invalid", message, f"input[{index}]")
    num_chars = sum(map(len, texts))
    if num_chars > MAX_CHARS:
        message = f"The texts have {num_chars:,} characters; one call takes {MAX_CHARS:,}. Send them in several calls."
        raise ApiError(400, "invalid", message, "input")


def _checked(ids: Sequence[Sequence[int]]) -> int:
    """Return the number of all tokens. Raises ApiError."""
    for index, each in enumerate(ids):
        if len(each) > LONGEST:
            message = f"The text has {len(each):,} tokens; {EMBEDDING_MODEL} reads {LONGEST} at most. Split the text."
            raise ApiError(400, "invalid", message, f"input[{index}]")
    num_tokens = sum(map(len, ids))
    if num_tokens > MAX_TOKENS:
        message = f"The texts have {num_tokens:,} tokens; one call takes {MAX_TOKENS:,}. Send them in several calls."
        raise ApiError(400, "invalid", message, "input")
    return num_tokens


@cache
def _loaded() -> Embedder:
    return Embedder()


def embedder() -> Embedder:
    """The process's embedder, loaded at its first use. Raises ApiError."""
    try:
        return _loaded()
    except SafetyModelError as error:
        raise ApiError(503, "model_unavailable", str(error)) from None
