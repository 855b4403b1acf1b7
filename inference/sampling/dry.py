"""The DRY penalty on tokens that would extend a repeated sequence (Weidmann's "Don't Repeat Yourself" sampler).

The rules are those of text-generation-webui and llama.cpp, but count the answer alone: an answer may quote the prompt
freely. Frequency and presence penalty count the same tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from inference.protocol.events import ProcessorName
from inference.protocol.request import SamplingParams

MAX_PENALTY = 10_000.0
"""Largest penalty: it rules a token out, and float32 can still tell such tokens' logits apart."""

Piece = Callable[[int], bytes]
"""A token's own bytes."""


class Continuation(NamedTuple):
    """A token that would extend a repeated sequence."""

    token: int
    num_repeated: int
    """Tokens of that sequence, without the token itself."""


class Dry:
    """Subtracts multiplier * base ** (tokens repeated - allowed length) from each token that would repeat one more."""

    name: ProcessorName = "dry"
    is_mask = False

    def __init__(self, params: SamplingParams, piece: Piece) -> None:
        self._params = params
        self._piece = piece
        self._breakers = tuple(text.encode() for text in params.dry_sequence_breakers)
        self._is_breaker: dict[int, bool] = {}
        self._num_read = 0
        self._ids = np.empty(256, np.int64)
        """The output's tokens; entries beyond num_read are unused, here and in `_lengths`."""
        self._lengths = np.zeros(256, np.int64)
        """At each place: the number of tokens up to it that equal the output's last ones, none of them a breaker."""

    def process(self, logits: NDArray[np.float32], output: Sequence[int]) -> None:
        """Apply the penalty; see LogitsProcessor."""
        for token in output[self._num_read :]:
            self._read(token)
        for token, num_repeated in self._continuations():
            logits[token] -= np.float32(self._penalty(num_repeated))

    def _read(self, token: int) -> None:
        end = self._num_read
        if end == len(self._ids):
            self._ids, self._lengths = np.resize(self._ids, 2 * end), np.resize(self._lengths, 2 * end)
        if self._breaks(token):
            self._lengths[:end] = 0
        else:
            grown = np.concatenate(([1], self._lengths[: max(end - 1, 0)] + 1))[:end]
            self._lengths[:end] = np.where(self._ids[:end] == token, grown, 0)
        self._ids[end] = token
        self._lengths[end] = 0
        self._num_read = end + 1

    def _breaks(self, token: int) -> bool:
        if token not in self._is_breaker:
            piece = self._piece(token)
            self._is_breaker[token] = any(breaker in piece for breaker in self._breakers)
        return self._is_breaker[token]

    def _continuations(self) -> list[Continuation]:
        """Return each token once, with the longest sequence that it would extend."""
        num_seen, last_n = self._num_read, self._params.dry_penalty_last_n
        start = 0 if last_n < 0 else max(num_seen - last_n, 0)
        places = np.arange(start, num_seen)
        lengths = np.minimum(self._lengths[start:num_seen], places - start + 1)
        longest: dict[int, int] = {}
        for index in np.flatnonzero(lengths >= self._params.dry_allowed_length).tolist():
            token = int(self._ids[start + index + 1])
            longest[token] = max(longest.get(token, 0), int(lengths[index]))
        return [Continuation(token, length) for token, length in longest.items() if not self._breaks(token)]

    def _penalty(self, num_repeated: int) -> float:
        params = self._params
        exponent = num_repeated - params.dry_allowed_length
        try:
            return min(params.dry_multiplier * float(params.dry_base) ** exponent, MAX_PENALTY)
        except OverflowError:
            return MAX_PENALTY
