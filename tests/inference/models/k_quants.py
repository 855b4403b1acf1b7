"""Writes ggml's K formats, which the gguf package only reads. Plainly: no search for the best scales.

Layouts as in ggml (dequantize_row_q4_K and its neighbours): 256 weights of a row share a block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BLOCK = 256
Bytes = NDArray[np.uint8]


def quantize_k(values: NDArray[np.float32], kind: str) -> Bytes:
    """values: [rows, a multiple of 256]; kind: Q4_K, Q5_K or Q6_K. Returns [rows, bytes of a row]."""
    blocks = values.reshape(-1, BLOCK)
    packed = _q6(blocks) if kind == "Q6_K" else _q4_or_q5(blocks, 4 if kind == "Q4_K" else 5)
    return packed.reshape(len(values), -1)


def _q4_or_q5(blocks: NDArray[np.float32], bits: int) -> Bytes:
    """Eight groups of 32: weight = scale * code - minimum; scales and minima are 6-bit multiples of two numbers."""
    groups = blocks.reshape(-1, 8, 32)
    minima = np.maximum(-groups.min(axis=2), 0)
    scales = (groups.max(axis=2) + minima) / (2**bits - 1)
    outer = np.stack([scales.max(axis=1), minima.max(axis=1)], axis=1) / 63
    outer = np.maximum(outer, 1e-7).astype(np.float16)
    sixths = np.rint(np.stack([scales, minima], axis=1) / outer[..., None]).clip(0, 63).astype(np.uint8)
    factors = outer.astype(np.float32)[..., None] * sixths  # [blocks, 2, 8]
    codes = (groups + factors[:, 1, :, None]) / np.maximum(factors[:, 0, :, None], 1e-12)
    codes = np.rint(codes).clip(0, 2**bits - 1).astype(np.uint8).reshape(-1, 4, 2, 32)
    nibbles = (codes[:, :, 0] & 15) | (codes[:, :, 1] & 15) << 4
    fifths = (codes.reshape(-1, 8, 32) >> 4 << np.arange(8, dtype=np.uint8)[:, None]).sum(axis=1, dtype=np.uint8)
    parts = [outer.view(np.uint8), _sixths(sixths), *([fifths] if bits == 5 else []), nibbles.reshape(-1, 128)]
    return np.concatenate(parts, axis=1)


def _sixths(values: Bytes) -> Bytes:
    """[blocks, 2, 8] numbers of 6 bits as 12 bytes: the first four scales, four minima, and the rest's low bits, with
    the rest's high bits on top of the first."""
    low, high = values[..., :4], values[..., 4:]
    first = low | high >> 4 << 6
    return np.concatenate([first[:, 0], first[:, 1], (high[:, 0] & 15) | (high[:, 1] & 15) << 4], axis=1)


def _q6(blocks: NDArray[np.float32]) -> Bytes:
    """Sixteen groups of 16: weight = scale * (code - 32); scales are 8-bit multiples of one number."""
    groups = blocks.reshape(-1, 16, 16)
    scales = np.abs(groups).max(axis=2) / 31
    outer = np.maximum(scales.max(axis=1, keepdims=True) / 127, 1e-7).astype(np.float16)
    eighths = np.rint(scales / outer).clip(1, 127).astype(np.int8)
    factors = outer.astype(np.float32) * eighths
    codes = (np.rint(groups / factors[..., None]) + 32).clip(0, 63).astype(np.uint8).reshape(-1, 2, 4, 32)
    low = (codes[:, :, :2] & 15) | (codes[:, :, 2:] & 15) << 4  # [blocks, 2, 2, 32]
    high = (codes >> 4 << np.array([0, 2, 4, 6], np.uint8)[:, None]).sum(axis=2, dtype=np.uint8)
    parts = [low.reshape(-1, 128), high.reshape(-1, 64), eighths.view(np.uint8), outer.view(np.uint8)]
    return np.concatenate(parts, axis=1)
