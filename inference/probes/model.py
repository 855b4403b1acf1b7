"""The model as probes see it: one token's forward pass with all that it computes. Knows nothing of requests.

The PyTorch decoder computes in float32: a probe shows the model itself, without the rounding that makes serving fast.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from inference.models.blocks import BLOCK_SIZE
from inference.models.config import ModelConfig
from inference.models.decoder import Chunk
from inference.models.decoders.attention import StepLayout
from inference.models.decoders.kv_cache import KVCache
from inference.models.decoders.observer import Observer
from inference.models.decoders.torch_decoder import TorchDecoder
from inference.models.sources.source import ModelSource
from inference.models.weights.torch_weights import load_weights

_CHUNK = 64
"""Tokens of a prompt computed at once; the probe then sleeps for as long, and leaves the cores to serving."""


@dataclass(frozen=True)
class Pass:
    """The results of one token's forward pass."""

    attention: Tensor  # [num_layers, num_heads, num_tokens] float32, the token itself last
    residuals: Tensor  # [num_layers, hidden_size] float32, after each layer


@dataclass(frozen=True)
class Step:
    """The likeliest token after a text, and its cost."""

    id: int
    num_tokens: int
    cpu_us: int


class _Recorder:
    """An Observer that records a step's last token."""

    def __init__(self, config: ModelConfig, num_tokens: int) -> None:
        self.attention = torch.zeros(config.num_layers, config.num_heads, num_tokens)
        self.residuals = torch.zeros(config.num_layers, config.hidden_size)

    def attended(self, layer: int, first: int, weights: Tensor) -> None:
        self.attention[layer, :, first:] = weights[:, -1]

    def passed(self, layer: int, residual: Tensor) -> None:
        self.residuals[layer] = residual[-1]


class _Summer:
    """An Observer that sums a step's attention over ranges of keys."""

    def __init__(self, range_of: Tensor, num_ranges: int, first: int, num_tokens: int) -> None:
        self._range_of = range_of  # [num_keys] int64
        self._first = first
        self.sums = torch.zeros(num_tokens, num_ranges)

    def attended(self, layer: int, first: int, weights: Tensor) -> None:
        _, num_rows, num_keys = weights.shape
        # The keys end with the part's own last token.
        row = first + num_keys - num_rows - self._first
        keys = self._range_of[first : first + num_keys]
        self.sums[row : row + num_rows].index_add_(1, keys, weights.sum(0, dtype=torch.float32))

    def passed(self, layer: int, residual: Tensor) -> None:
        pass


class _Unturned(StepLayout):
    """A layout that applies no rotary embedding."""

    def rotation(self, layer: int) -> Callable[[Tensor], Tensor]:  # type: ignore[override]
        return lambda turned: turned


class ProbedModel:
    """Weights, and the KV cache of the last probed sequence: the next probe is often of its next token."""

    def __init__(self, source: ModelSource, max_tokens: int) -> None:
        """Reads all weights. Raises ModelFileError."""
        weights = load_weights(source, lambda _share: None, None, torch.float32)
        self.config = source.config
        self.embedding = weights["embedding"]  # [vocab_size, hidden_size]
        self._decoder = TorchDecoder(source.config, weights)
        num_blocks = -(-max_tokens // BLOCK_SIZE)
        self._kv = KVCache(source.config, num_blocks, torch.float32)
        self._table = list(range(num_blocks))
        self._cached: list[int] = []

    def forget(self) -> None:
        """Drop the cached tokens, so that the next sequence is computed from its start."""
        self._cached = []

    def observe(self, ids: Sequence[int]) -> Pass:
        """Return the pass of the last of these tokens, with the others as its context."""
        self._read(ids, len(ids) - 1)
        recorder = _Recorder(self.config, len(ids))
        self._decoder.forward([Chunk(ids[-1:], len(ids) - 1, self._table, num_logits=0)], self._kv, recorder)
        return Pass(recorder.attention, recorder.residuals)

    def sum_attention(self, ids: Sequence[int], first: int, starts: Sequence[int]) -> Tensor:
        """Return the mean attention of the tokens from `first` on, summed over ranges: [num_tokens, num_ranges].

        starts: the first token of each range, ascending from 0.
        """
        self._read(ids, first)
        range_of = torch.searchsorted(torch.tensor(starts), torch.arange(len(ids)), right=True) - 1
        summer = _Summer(range_of, len(starts), first, len(ids) - first)
        self._compute(ids, first, len(ids), summer)
        return summer.sums / (self.config.num_layers * self.config.num_heads)

    def _read(self, ids: Sequence[int], end: int) -> None:
        """Compute the tokens before `end` that the cache lacks."""
        start = min(_num_common(self._cached, ids), end)
        self._cached = list(ids[:start])
        self._compute(ids, start, end, None)

    def _compute(self, ids: Sequence[int], start: int, end: int, observer: Observer | None) -> None:
        for first in range(start, end, _CHUNK):
            part, start_s = ids[first : min(first + _CHUNK, end)], time.thread_time()
            self._decoder.forward([Chunk(part, first, self._table, num_logits=0)], self._kv, observer)
            self._cached += part
            # A low priority alone does not free the memory and caches that cores share: use at most half of a core.
            time.sleep(time.thread_time() - start_s)

    def last_residuals(self, ids: Sequence[int], is_turned: bool) -> Tensor:
        """Return the last token's residual stream after each layer: [num_layers, hidden_size].

        is_turned: False omits the rotary embedding, so that queries and keys carry no position.
        """
        self.forget()
        kind = StepLayout if is_turned else _Unturned
        layout = kind([Chunk(ids, 0, self._table, num_logits=0)], self.config, self._kv, torch.float32)
        recorder = _Recorder(self.config, len(ids))
        with torch.inference_mode():
            self._decoder.residual(torch.tensor(ids), layout, recorder)
        return recorder.residuals

    def step(self, ids: Sequence[int], start: int) -> Step:
        """Compute the tokens from `start` on in one step of a server, with the others in the cache."""
        self.forget()
        begun_ns = time.thread_time_ns()
        logits = self._decoder.forward([Chunk(ids[start:], start, self._table)], self._kv)
        return Step(int(logits[0].argmax()), len(ids) - start, (time.thread_time_ns() - begun_ns) // 1000)

    def read_out(self, residuals: Tensor) -> Tensor:
        """Return log-probabilities from the final norm and the output head: [n, hidden_size] → [n, vocab_size]."""
        return self._decoder.read_out(residuals).log_softmax(-1)


def _num_common(first: Sequence[int], second: Sequence[int]) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(first), len(second)))
