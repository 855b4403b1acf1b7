"""A weight matrix in the two forms the decoder needs: compact for few rows, dense for many.

Decoding is bound by memory bandwidth. So the compact form keeps the 4-bit codes, scales and minima of Q4_0 and Q4_1.
It has Q5_0 and the K formats as int8 per output channel. Q8_0 and unquantised formats have none. Prefill is bound by
arithmetic. So the dense form is bfloat16 where the CPU multiplies it natively. Each form is first packed into plain
tensors, which can be kept in a file, and a matrix is made from those. Knows nothing of a matrix's purpose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from inference.models.sources.source import ModelSource

INT4_GROUP = 32
"""Weights that share one scale (and one minimum) in Q4_0 and Q4_1."""
_NUM_SCALES = {"Q4_0": 1, "Q4_1": 2}
"""float16 numbers before a group's 16 bytes of nibbles (low nibbles first): the scale, and Q4_1's minimum."""
_FINER = {"Q8_0", "F16", "BF16", "F32"}
"""Formats to which int8 per channel would add more error than their own. In bfloat16 a row takes over twice as long."""
MAX_COMPACT_ROWS = 15
"""Measured: from 16 rows on the dense product is faster than the row-wise kernels."""


class Compact(Protocol):
    """A matrix for few rows. x: [num_rows, num_in] bfloat16 → [num_rows, num_out] bfloat16."""

    name: str

    def __call__(self, x: Tensor) -> Tensor: ...


class Int8Channel:
    """int8 weights with one scale per output channel."""

    name = "int8 per channel"

    def __init__(self, codes: Tensor, scale: Tensor) -> None:
        """codes: [num_out, num_in] int8; scale: [num_out] float32."""
        self._codes = codes
        self._scale = scale.to(torch.bfloat16)

    def __call__(self, x: Tensor) -> Tensor:
        return torch._weight_int8pack_mm(x, self._codes, self._scale)


class Int8Dynamic:
    """int8 weights with one scale per output channel, and rows quantised to 8 bits as they come (oneDNN, VNNI)."""

    def __init__(self, codes: Tensor, scale: Tensor) -> None:
        """codes: [num_out, num_in] int8; scale: [num_out] float32."""
        self._scale = scale
        self._zero = torch.zeros(len(codes), dtype=torch.int32)
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
    """4-bit codes in groups of 32 with their own scale and minimum: Q4_0 and Q4_1 as they stand in the file."""

    name = "int4 in groups of 32"

    def __init__(self, packed: Tensor, scale_and_zero: Tensor) -> None:
        """packed, scale_and_zero: as pack_int4 returns them."""
        self._packed = packed
        self._scale_and_zero = scale_and_zero

    def __call__(self, x: Tensor) -> Tensor:
        return torch._weight_int4pack_mm_for_cpu(x, self._packed, INT4_GROUP, self._scale_and_zero)


class Linear:
    """y = x @ weight.T without bias, for any number of rows."""

    def __init__(self, compact: Compact | None, dense: Tensor) -> None:
        """dense: [num_out, num_in], of the dtype to multiply in."""
        self._compact = compact
        self._dense = dense
        self.dense_name = str(dense.dtype).removeprefix("torch.")
        self.compact_name = compact.name if compact else self.dense_name

    def __call__(self, x: Tensor) -> Tensor:
        """x: [num_rows, num_in] → [num_rows, num_out] of the same dtype (bfloat16 where there is a compact form)."""
        if self._compact is not None and x.shape[0] <= MAX_COMPACT_ROWS:
            return self._compact(x)
        return functional.linear(x.to(self._dense.dtype), self._dense).to(x.dtype)


def pack_linear(source: ModelSource, names: Sequence[str], dtype: torch.dtype, is_compact: bool) -> dict[str, Tensor]:
    """Several tensors of the same input stacked into one matrix, in the forms that it needs. Raises ModelFileError."""
    dense = torch.from_numpy(np.concatenate([source.array(name) for name in names]))
    packed = {"dense": dense.to(dtype)}
    if not is_compact:
        return packed
    formats = {source.format(name) for name in names}
    if formats & _FINER:
        return packed
    # The int4 kernel takes output channels in blocks of 32.
    if len(dense) % 32 == 0 and len(formats) == 1 and formats <= _NUM_SCALES.keys():
        blocks = torch.from_numpy(np.concatenate([source.blocks(name) for name in names]))
        return packed | pack_int4(blocks, _NUM_SCALES[formats.pop()])
    return packed | pack_int8(dense)


def unpack_linear(packed: Mapping[str, Tensor]) -> Linear:
    """Return the matrix from pack_linear's tensors."""
    if "int4" in packed:
        return Linear(Int4Group(packed["int4"], packed["scale_and_zero"]), packed["dense"])
    if "int8" in packed:
        return Linear(Int8Channel(packed["int8"], packed["scale"]), packed["dense"])
    return Linear(None, packed["dense"])


def pack_int8(weight: Tensor) -> dict[str, Tensor]:
    """Return the codes and scales of weight, [num_out, num_in] float32."""
    scale = weight.abs().amax(dim=1).clamp_min(1e-12) / 127
    return {"int8": (weight / scale[:, None]).round_().to(torch.int8), "scale": scale}


def pack_int4(blocks: Tensor, num_scales: int) -> dict[str, Tensor]:
    """blocks: [num_out, bytes of a row] uint8, rows of Q4_0 or Q4_1."""
    num_out, header = len(blocks), 2 * num_scales
    parts = blocks.view(num_out, -1, header + INT4_GROUP // 2)
    scales = parts[..., :header].contiguous().view(torch.float16).float()  # [num_out, num_groups, num_scales]
    nibbles = parts[..., header:]
    codes = torch.cat([nibbles & 15, nibbles >> 4], dim=-1).view(num_out, -1).to(torch.int32)
    # The kernel computes (code - 8) * scale + zero: Q4_0's own form, while Q4_1 means code * scale + minimum.
    scale = scales[..., 0]
    zero = scales[..., 1] + 8 * scale if num_scales == 2 else torch.zeros_like(scale)
    return {
        "int4": torch._convert_weight_to_int4pack_for_cpu(codes, 1),
        "scale_and_zero": torch.stack([scale, zero], dim=-1).transpose(0, 1).contiguous().to(torch.bfloat16),
    }


def load_head(packed: Mapping[str, Tensor]) -> Int8Dynamic | Int8Channel:
    """The output matrix from pack_int8, whose product is only as exact as a ranking needs."""
    kind = Int8Dynamic if torch.cpu._is_vnni_supported() else Int8Channel
    return kind(packed["int8"], packed["scale"])


def best_dense_dtype() -> torch.dtype:
    """bfloat16 where the CPU multiplies it natively, float32 elsewhere."""
    try:
        has_bf16 = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    except (AttributeError, RuntimeError):
        has_bf16 = False
    return torch.bfloat16 if has_bf16 else torch.float32
