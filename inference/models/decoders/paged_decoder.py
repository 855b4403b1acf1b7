"""The decoder on a GPU: blocks on the device, one copy in and one out per step, decode in CUDA graphs.

The layers are the PyTorch decoder's own. It runs on a CPU too, without capture, so that tests cover its numerics.
Knows nothing of scheduling or sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inference.models.config import ModelConfig
from inference.models.decoder import Chunk
from inference.models.decoders.decode_step import MAX_ROWS, Bucket, DecodeStep, bucket_of, num_used_blocks, padded_table
from inference.models.decoders.kv_cache import PagedCache
from inference.models.decoders.paged_layout import Group, PagedLayout
from inference.models.decoders.torch_decoder import TorchDecoder
from inference.models.device import best_dtype
from inference.models.sources.source import ModelSource
from inference.models.weights.torch_weights import Weights, load_on_device


def load_paged(
    source: ModelSource,
    device: torch.device,
    on_progress: Callable[[float], None] = lambda _share: None,
    dtype: torch.dtype | None = None,
) -> PagedDecoder:
    """Read all weights to the device; dtype: of weights, products and cache, the device's best if None. Raises
    ModelFileError."""
    dtype = dtype or best_dtype(device)
    return PagedDecoder(source.config, load_on_device(source, on_progress, dtype, device), dtype, device)


class ServedCache(PagedCache):
    """A cache with the decode steps that were captured over it: their graphs hold its addresses."""

    def __init__(
        self, config: ModelConfig, num_blocks: int, dtype: torch.dtype, device: torch.device, has_graphs: bool
    ) -> None:
        super().__init__(config, num_blocks, dtype, device)
        self.steps: dict[Bucket, DecodeStep] = {}
        self.pool: object | None = torch.cuda.graph_pool_handle() if has_graphs else None
        self.logits = torch.empty((MAX_ROWS, config.vocab_size), device=device)


class PagedDecoder:
    """See decoder.Decoder."""

    is_batch_invariant = False
    """A product's form depends on its number of rows."""

    def __init__(
        self, config: ModelConfig, weights: Weights, dtype: torch.dtype, device: torch.device, has_graphs: bool = True
    ) -> None:
        """weights: from load_on_device. has_graphs: on a GPU; False measures the gain of the graphs."""
        self.config = config
        self._model = TorchDecoder(config, weights)
        self._dtype, self._device = dtype, device
        self._is_cuda = device.type == "cuda"
        self._has_graphs = self._is_cuda and has_graphs
        windows = {config.window_of(layer) for layer in range(config.num_layers)}
        self._frequencies = {
            window: torch.tensor(config.rope_frequencies(window is not None), device=device) for window in windows
        }
        self._uploaded = torch.empty(0, dtype=torch.int64)
        self._host = torch.empty(0, config.vocab_size)
        self._last: tuple[NDArray[np.float32], Tensor] | None = None
        self.device = torch.cuda.get_device_name(device) if self._is_cuda else "cpu"
        graphs = ", decode in CUDA graphs" if self._has_graphs else ""
        self.compute = f"{str(dtype).removeprefix('torch.')}, attention over gathered blocks{graphs}, by PyTorch"

    def build_cache(self, num_blocks: int) -> ServedCache:
        """Return a cache of zeros; all its memory is taken at once."""
        return ServedCache(self.config, num_blocks, self._dtype, self._device, self._has_graphs)

    @torch.inference_mode()
    def forward(self, chunks: list[Chunk], kv: ServedCache) -> NDArray[np.float32]:
        """See decoder.Decoder."""
        is_decode = all(len(chunk.ids) == chunk.num_logits == 1 for chunk in chunks)
        bucket = bucket_of(chunks) if is_decode else None
        try:
            logits = self._plain(chunks, kv) if bucket is None else self._decode(bucket, chunks, kv)
            return self._to_host(logits)
        except Exception:
            self.wait()  # the next call writes to pinned memory from which a copy may still be under way
            raise

    def wait(self) -> None:
        """See decoder.Decoder."""
        if self._is_cuda:
            torch.cuda.synchronize(self._device)

    def on_device(self, logits: NDArray[np.float32]) -> Tensor | None:
        """Return the last forward's result on the device, if logits is that result; else None."""
        return self._last[1] if self._last is not None and self._last[0] is logits else None

    def _decode(self, bucket: Bucket, chunks: list[Chunk], kv: ServedCache) -> Tensor:
        results = kv.logits[: bucket.num_rows]

        def compute(inputs: Tensor) -> None:
            group = Group(inputs[:, 1:2], inputs[:, 2:])
            layout = PagedLayout(self.config, [group], self._frequencies, kv)
            results.copy_(self._model.read_out(self._model.residual(inputs[:, 0], layout)))

        if bucket not in kv.steps:
            kv.steps[bucket] = DecodeStep(bucket, kv.spare_block, self._device, kv.pool)
        kv.steps[bucket].run(chunks, compute)
        return results[: len(chunks)]

    def _plain(self, chunks: list[Chunk], kv: ServedCache) -> Tensor:
        """Compute any step. Single tokens attend together, prompts each by itself, so that little is padded."""
        singles = [chunk for chunk in chunks if len(chunk.ids) == 1]
        together = singles if singles and bucket_of(singles) else []
        alone = [chunk for chunk in chunks if len(chunk.ids) > 1 or not together]
        ordered = [*together, *alone]
        tables = [_table(chunk) for chunk in alone]
        if together:
            num_blocks = max(map(num_used_blocks, together))
            tables.insert(0, _int64([padded_table(chunk, num_blocks) for chunk in together]))
        ids, positions, rows, *found = self._upload(
            _int64([token for chunk in ordered for token in chunk.ids]),
            np.concatenate([np.arange(chunk.start, chunk.end) for chunk in ordered]),
            _logit_rows(chunks, ordered),
            *tables,
        )
        groups = [Group(positions[: len(together), None], found.pop(0))] if together else []
        own = positions[len(together) :].split_with_sizes([len(chunk.ids) for chunk in alone])
        groups += [Group(place[None], table, chunk.end) for chunk, place, table in zip(alone, own, found, strict=True)]
        layout = PagedLayout(self.config, groups, self._frequencies, kv)
        return self._model.read_out(self._model.residual(ids, layout)[rows])

    def _upload(self, *arrays: NDArray[np.int64]) -> list[Tensor]:
        """Return the arrays on the device, by one copy from pinned memory."""
        sizes = [array.size for array in arrays]
        if len(self._uploaded) < sum(sizes):
            self._uploaded = torch.empty(2 * sum(sizes), dtype=torch.int64, pin_memory=self._is_cuda)
        staged = self._uploaded[: sum(sizes)]
        np.concatenate([array.reshape(-1) for array in arrays], out=staged.numpy())
        parts = staged.to(self._device, non_blocking=True).split_with_sizes(sizes)
        return [part.view(array.shape) for part, array in zip(parts, arrays, strict=True)]

    def _to_host(self, logits: Tensor) -> NDArray[np.float32]:
        """Copy the logits to the host and wait for the device."""
        if len(self._host) < len(logits):
            self._host = torch.empty(max(len(logits), MAX_ROWS), self.config.vocab_size, pin_memory=self._is_cuda)
        host = self._host[: len(logits)]
        host.copy_(logits, non_blocking=True)
        if self._is_cuda:
            torch.cuda.current_stream().synchronize()
        self._last = (host.numpy(), logits)
        return self._last[0]


def _table(chunk: Chunk) -> NDArray[np.int64]:
    return _int64(chunk.block_table[: num_used_blocks(chunk)])[None]


def _logit_rows(chunks: Sequence[Chunk], ordered: Sequence[Chunk]) -> NDArray[np.int64]:
    """Return the places of the tokens that are to have logits, when chunks stand in another order."""
    ends = dict(zip(map(id, ordered), accumulate(len(chunk.ids) for chunk in ordered), strict=True))
    return _int64([ends[id(chunk)] - left for chunk in chunks for left in range(chunk.num_logits, 0, -1)])


def _int64(values: Any) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)
