"""A decode step of fixed shape: captured as a CUDA graph and replayed, plain on a CPU. Knows nothing of layers.

It computes one token of up to num_rows sequences over tables of up to num_blocks blocks. Inputs and results stay at the
same addresses, and one graph launch takes the place of a thousand kernel launches.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from inference.models.blocks import BLOCK_SIZE
from inference.models.decoder import Chunk

logger = logging.getLogger(__name__)

MAX_ROWS = 64
"""Sequences that run at once by the scheduler's limits."""
MAX_GATHERED = 1 << 18
"""Keys of one layer gathered at once: 1 GB with their values, at eight key/value heads of 128 numbers."""


@dataclass(frozen=True)
class Bucket:
    """A shape that steps are padded to."""

    num_rows: int
    num_blocks: int


def bucket_of(chunks: Sequence[Chunk]) -> Bucket | None:
    """Return the smallest bucket for these single tokens: powers of two, for blocks also the numbers halfway between.

    None: the tokens are too many, or their sequences too long.
    """
    num_rows = 1 << (len(chunks) - 1).bit_length()
    num_blocks = max(num_used_blocks(chunk) for chunk in chunks)
    power = 1 << (num_blocks - 1).bit_length()
    if num_blocks <= power * 3 // 4:
        power = power * 3 // 4
    is_small = num_rows <= MAX_ROWS and num_rows * power * BLOCK_SIZE <= MAX_GATHERED
    return Bucket(num_rows, power) if is_small else None


def num_used_blocks(chunk: Chunk) -> int:
    """Return the number of blocks that hold the sequence up to the chunk's end."""
    return -(-chunk.end // BLOCK_SIZE)


def padded_table(chunk: Chunk, num_blocks: int) -> list[int]:
    """Return the blocks up to the chunk's end, then the last of them again.

    Hidden values must be finite, for 0 times NaN is NaN. With its own block a sequence depends on no other.
    """
    used = list(chunk.block_table[: num_used_blocks(chunk)])
    return used + used[-1:] * (num_blocks - len(used))


class DecodeStep:
    """All steps of one bucket: the first is plain and warms up, the second is captured, later ones replay it."""

    def __init__(self, bucket: Bucket, spare_block: int, device: torch.device, pool: object | None) -> None:
        """pool: memory shared with the other buckets' graphs, which never run at once; None: nothing is captured."""
        self._spare_block, self._pool = spare_block, pool
        shape, is_cuda = (bucket.num_rows, 2 + bucket.num_blocks), device.type == "cuda"
        self._inputs = torch.zeros(shape, dtype=torch.int64, device=device)
        self._staged = torch.zeros(shape, dtype=torch.int64, pin_memory=is_cuda)
        self._rows = self._staged.numpy()
        self._num_plain = 0
        self._may_capture = pool is not None
        self._graph: torch.cuda.CUDAGraph | None = None

    @property
    def is_captured(self) -> bool:
        return self._graph is not None

    def run(self, chunks: Sequence[Chunk], compute: Callable[[Tensor], None]) -> None:
        """Compute these tokens; the rows left over compute a token of no sequence.

        The caller waits for the device before the next call.

        compute: the same each time; of [num_rows, 2 + num_blocks] int64 (a token's id, its position, its blocks), it
        leaves its results at the same address each time.
        """
        self._rows[:, :2], self._rows[:, 2:] = 0, self._spare_block
        for row, chunk in zip(self._rows, chunks, strict=False):
            row[0], row[1], row[2:] = chunk.ids[0], chunk.start, padded_table(chunk, len(row) - 2)
        self._inputs.copy_(self._staged, non_blocking=True)
        if self._graph is None and self._may_capture and self._num_plain:
            self._graph = self._capture(compute)
        if self._graph is not None:
            self._graph.replay()
        else:
            compute(self._inputs)
            self._num_plain += 1

    def _capture(self, compute: Callable[[Tensor], None]) -> torch.cuda.CUDAGraph | None:
        """Capture the step without computing it. A step that cannot be captured stays plain, which costs only speed."""
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
        try:
            # Other threads of the worker may use the device while this one captures.
            with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):  # type: ignore[arg-type]
                compute(self._inputs)
        except RuntimeError as error:
            torch.cuda.set_stream(stream)  # a capture that fails at its end leaves its own stream as the current one
            self._may_capture = False
            logger.warning("steps of %d rows are not captured: %s", len(self._inputs), error)
            return None
        return graph
