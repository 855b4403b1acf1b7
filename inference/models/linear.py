"""A weight matrix in the two forms the decoder needs: compact for few rows, dense for many.

Decoding is bound by memory bandwidth, so the compact form keeps Q4_1's own 4-bit codes, scales and minima, and all else
as int8 per output channel. Prefill is bound by arithmetic, so the dense form is bfloat16 where the CPU multiplies it
natively. Knows nothing of what a matrix is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from inference.models.gguf_file import GgufFile

Q4_1_GROUP = 32
"""Weights that share one scale and one minimum in Q4_1."""
_Q4_1_BLOCK_BYTES = 20
"""float16 scale, float16 minimum, 16 bytes of nibbles (low nibbles first)."""
MAX_COMPACT_ROWS = 15
"""Measured: from 16 rows on the dense product is faster than the row-wise kernels."""


class Compact(Protocol):
    """A matrix for few rows. x: [num_rows, num_in] bfloat16 → [num_rows, num_out] bfloat16."""

    name: str

    def __call__(self, x: Tensor) -> Tensor: ...


class Int8Channel:
    """int8 weights with one scale per output channel."""

    name = "int8 per channel"

    def __init__(self, weight: Tensor) -> None:
        """weight: [num_out, num_in] float32."""
        scale = weight.abs().amax(dim=1).clamp_min(1e-12) / 127
        self._codes = (weight / scale[:, None]).round_().to(torch.int8)
        self._scale = scale.to(torch.bfloat16)

    def __call__(self, x: Tensor) -> Tensor:
        return torch._weight_int8pack_mm(x, self._codes, self._scale)


class Int8Dynamic:
    """int8 weights with one scale per output channel, and rows quantised to 8 bits as they come (oneDNN, VNNI)."""

    def __init__(self, weight: Tensor) -> None:
        """weight: [num_out, num_in] float32."""
        self._scale = weight.abs().amax(dim=1).clamp_min(1e-12) / 127
        self._zero = torch.zeros(len(weight), dtype=torch.int32)
        codes = (weight / self._scale[:, None]).round_().to(torch.int8)
        self._packed = torch.ops.onednn.qlinear_prepack(codes, None)

    def __call__(self, x: Tensor) -> Tensor:
        """x: [num_rows, num_in] bfloat16 → [num_rows, num_out] float32."""
        x = x.float()
        # The kernel has one scale for all rows; brought to the same maximum first, no row depends on another.
        largest = x.abs().amax(dim=1, keepdim=True).clamp_min_(1e-12)
        codes = (x * (127 / largest)).round_().add_(128).to(torch.uint8)
        product: Tensor = torch.ops.onednn.qlinear_pointwise(
            codes, 1 / 127, 128, self._packed, self._scale, self._zero, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return product.mul_(largest)


class Int4Group:
    """4-bit codes in groups of 32 with their own scale and minimum: Q4_1 as it stands in the file."""

    name = "int4 in groups of 32"

    def __init__(self, blocks: Tensor) -> None:
        """blocks: [num_out, num_in / 32 * 20] uint8, Q4_1 rows."""
        num_out = blocks.shape[0]
        parts = blocks.view(num_out, -1, _Q4_1_BLOCK_BYTES)
        scale = parts[..., 0:2].contiguous().view(torch.float16)[..., 0].float()  # [num_out, num_groups]
        minimum = parts[..., 2:4].contiguous().view(torch.float16)[..., 0].float()
        nibbles = parts[..., 4:]
        codes = torch.cat([nibbles & 15, nibbles >> 4], dim=-1).view(num_out, -1).to(torch.int32)
        self._packed = torch._convert_weight_to_int4pack_for_cpu(codes, 1)
        # The kernel computes (code - 8) * scale + zero, Q4_1 means code * scale + minimum.
        zero = minimum + 8 * scale
        self._scale_and_zero = torch.stack([scale, zero], dim=-1).transpose(0, 1).contiguous().to(torch.bfloat16)

    def __call__(self, x: Tensor) -> Tensor:
        return torch._weight_int4pack_mm_for_cpu(x, self._packed, Q4_1_GROUP, self._scale_and_zero)


class Linear:
    """y = x @ weight.T without bias, for any number of rows."""

    def __init__(self, compact: Compact, dense: Tensor) -> None:
        """dense: [num_out, num_in] bfloat16 or float32."""
        self._compact = compact
        self._dense = dense
        self.compact_name = compact.name
        self.dense_name = str(dense.dtype).removeprefix("torch.")

    def __call__(self, x: Tensor) -> Tensor:
        """x: [num_rows, num_in] bfloat16 → [num_rows, num_out] bfloat16."""
        if x.shape[0] <= MAX_COMPACT_ROWS:
            return self._compact(x)
        return torch.nn.functional.linear(x.to(self._dense.dtype), self._dense).to(torch.bfloat16)


def load_linear(file: GgufFile, names: Sequence[str], dense_dtype: torch.dtype) -> Linear:
    """Several tensors of the same input stacked into one matrix. Raises ModelFileError."""
    dense = torch.from_numpy(np.concatenate([file.array(name) for name in names]))
    return Linear(_load_compact(file, names, dense), dense.to(dense_dtype))


def _load_compact(file: GgufFile, names: Sequence[str], dense: Tensor) -> Compact:
    num_out = dense.shape[0]
    # The int4 kernel takes output channels in blocks of 32.
    if num_out % 32 == 0 and all(file.format(name) == "Q4_1" for name in names):
        return Int4Group(torch.from_numpy(np.concatenate([file.blocks(name) for name in names])))
    return Int8Channel(dense)


def load_head(weight: Tensor) -> Int8Dynamic | Int8Channel:
    """The output matrix, whose product is only as exact as a ranking needs. weight: [num_out, num_in] float32."""
    return Int8Dynamic(weight) if torch.cpu._is_vnni_supported() else Int8Channel(weight)


def best_dense_dtype() -> torch.dtype:
    """bfloat16 where the CPU multiplies it natively, float32 elsewhere."""
    try:
        has_bf16 = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    except (AttributeError, RuntimeError):
        has_bf16 = False
    return torch.bfloat16 if has_bf16 else torch.float32
