"""A model's weights as the kernels read them; the layout is drawn in kernels/matrix.h. Knows nothing of the kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from inference.kernels.library import GROUP, TILE
from inference.models.config import ModelConfig
from inference.models.sources.source import ModelSource
from inference.models.sources.tensor_shapes import OUTPUT
from inference.models.weights.packed_cache import PackedCache, source_key

FORMAT = "native-4"
"""Format of packed weights; raised when their layout or their order changes."""

_FOUR_BITS = ("Q4_0", "Q4_1", "Q4_K")
"""Formats with 4-bit codes, a scale and a minimum for each group of 32. The packing keeps all three."""
_PLAIN = ("F32", "F16", "BF16")
_SPANS = (192, 128, 64)
"""Numbers of inputs that the prompts' form may turn together. The first one that divides all inputs is taken."""
_K_GROUPS = 8
"""Groups of 32 in a block of Q4_K."""
_NORMS = {
    "attention_norm": "attn_norm",
    "mlp_norm": "ffn_norm",
    "post_attention_norm": "post_attention_norm",
    "post_mlp_norm": "post_ffw_norm",
    "query_norm": "attn_q_norm",
    "key_norm": "attn_k_norm",
}
_MATRICES = {
    "qkv": ("attn_q", "attn_k", "attn_v"),
    "output": ("attn_output",),
    "gate_up": ("ffn_gate", "ffn_up"),
    "down": ("ffn_down",),
}

_T = TypeVar("_T", bound=np.generic)
Arrays = dict[str, NDArray[Any]]
Bytes = NDArray[np.uint8]


def obstacle(source: ModelSource) -> str | None:
    """Return the reason for which the kernels cannot compute this model, as users read it; None: they can."""
    config = source.config
    if source.format("blk.0.ffn_down.weight") in _PLAIN:
        return "its weights are not quantised. Set SIGHTGLASS_MODEL to a quantised GGUF file"
    widths = (config.hidden_size, config.intermediate_size, config.num_heads * config.head_dim)
    if any(width % GROUP for width in widths):
        return f"its widths {widths} are not all multiples of {GROUP}"
    if config.head_dim % TILE:
        return f"its heads of {config.head_dim} numbers are no multiple of {TILE}"
    return None


def load_native(
    source: ModelSource, on_progress: Callable[[float], None], cache: PackedCache | None, with_prompt_form: bool
) -> Arrays:
    """See load_decoder and pack_native."""
    if cache is None:
        return pack_native(source, on_progress, with_prompt_form)
    key = source_key(source, f"{FORMAT}{'-prompt' if with_prompt_form else ''}")
    arrays = cache.load_or_build(key, lambda: pack_native(source, on_progress, with_prompt_form))
    on_progress(1.0)
    return arrays


def pack_native(source: ModelSource, on_progress: Callable[[float], None], with_prompt_form: bool) -> Arrays:
    """Return all weights by name: "3.qkv.4" has layer 3's tiles for query, key and value, with 4-bit codes.

    with_prompt_form: adds the form for prompts where the model can have it. The form for prompts comes last. So its
    huge pages in a file hold no other form. Raises ModelFileError.
    """
    arrays, prompts, num_layers = Arrays(), Arrays(), source.config.num_layers
    with_prompt_form = with_prompt_form and has_prompt_form(source.config)
    for layer in range(num_layers):
        arrays |= {f"{layer}.{name}": value for name, value in _pack_layer(source, layer).items()}
        if with_prompt_form:
            prompts |= {f"{layer}.{name}.prompt": _prompt_tiles(source, layer, name) for name in _MATRICES}
        on_progress((layer + 1) / (num_layers + 1))
    arrays["norm"] = source.array("output_norm.weight")
    arrays |= _pack(source, "embedding", ["token_embd.weight"])
    if source.has(OUTPUT):
        arrays |= _pack(source, "head", [OUTPUT])
    on_progress(1.0)
    return arrays | prompts


def _pack_layer(source: ModelSource, layer: int) -> Arrays:
    arrays: Arrays = {
        name: source.array(full) for name, own in _NORMS.items() if source.has(full := f"blk.{layer}.{own}.weight")
    }
    if source.config.has_qkv_bias:
        parts = [source.array(f"blk.{layer}.{part}.bias") for part in _MATRICES["qkv"]]
        arrays["qkv.bias"] = _padded(np.concatenate(parts))
    for name in _MATRICES:
        arrays |= _pack(source, name, _tensors(layer, name), name == "gate_up")
    return arrays


def _tensors(layer: int, name: str) -> list[str]:
    return [f"blk.{layer}.{part}.weight" for part in _MATRICES[name]]


def _pack(source: ModelSource, name: str, tensors: Sequence[str], is_interleaved: bool = False) -> Arrays:
    """Return one matrix of several tensors' rows, one tensor after another or with their tiles by turns."""
    bits = 4 if all(source.format(tensor) in _FOUR_BITS for tensor in tensors) else 8
    pack = _tiles4 if bits == 4 else _tiles8
    if is_interleaved:
        return {f"{name}.{bits}": np.stack([pack(source, [tensor]) for tensor in tensors], axis=1).reshape(-1)}
    return {f"{name}.{bits}": pack(source, tensors).reshape(-1)}


def span_of(num_in: int) -> int:
    """Return the number of inputs turned together in a matrix's prompts' form; 0 where it has none."""
    return next((span for span in _SPANS if num_in % span == 0), 0)


def has_prompt_form(config: ModelConfig) -> bool:
    """Return whether all of a layer's matrices can have the form that is faster for prompts."""
    widths = (config.hidden_size, config.intermediate_size, config.num_heads * config.head_dim)
    return all(map(span_of, widths))


def _prompt_tiles(source: ModelSource, layer: int, name: str) -> Bytes:
    """Return all tiles of one matrix, four by four, as drawn in kernels/prompt_matrix.h."""
    tiles = [_by_tile(source.array(tensor)) for tensor in _tensors(layer, name)]
    rows = np.stack(tiles, axis=1) if name == "gate_up" else np.concatenate(tiles)
    num_in = rows.shape[-1]
    turn = _turn(span_of(num_in))
    turned = _padded(rows.reshape(-1, num_in), 4 * TILE).reshape(-1, len(turn)) @ (turn / np.square(turn[0]).sum())
    halves = turned.reshape(-1, 4, TILE, 2 * num_in // len(turn), len(turn) // 2)
    scales = np.maximum(np.abs(halves).max(axis=-1), 1e-30) / np.float32(127)
    codes = (np.rint(halves / scales[..., None]) + 128).astype(np.uint8)
    codes = codes.reshape(-1, 4, TILE, num_in // 4, 4).transpose(0, 3, 1, 2, 4).reshape(len(codes), -1)
    factors = np.ascontiguousarray(scales.transpose(0, 3, 1, 2)).view(np.uint8).reshape(len(codes), -1)
    return np.concatenate([codes, factors], axis=1).reshape(-1)


def _turn(size: int) -> NDArray[np.float32]:
    """Return the symmetric matrix that multiplies a span; see kernels/prompt_matrix.h."""
    pair = np.array([[1, 1], [1, -1]], np.float32)
    outer = {64: np.eye(1), 128: pair, 192: np.eye(3) - 2 / 3}[size]
    return np.asarray(reduce(np.kron, [outer, *[pair] * 6]), np.float32)


def _tiles4(source: ModelSource, tensors: Sequence[str]) -> Bytes:
    """[num_tiles, bytes of a tile]"""
    parts = [_four_bits(source.format(tensor), source.blocks(tensor)) for tensor in tensors]
    nibbles = _by_tile(np.concatenate([part[0] for part in parts]))  # [tiles, 16, groups, 16]
    factors = _by_tile(np.concatenate([part[1] for part in parts]))  # [tiles, 16, groups, 2] float16
    num_tiles, _, num_groups, _ = nibbles.shape
    codes = nibbles.reshape(num_tiles, TILE, num_groups, 4, 4).transpose(0, 2, 3, 1, 4)
    scales = np.ascontiguousarray(factors.transpose(0, 2, 3, 1)).view(np.uint8)
    shape = (num_tiles, num_groups, -1)
    return np.concatenate([codes.reshape(shape), scales.reshape(shape)], axis=2).reshape(num_tiles, -1)


def _tiles8(source: ModelSource, tensors: Sequence[str]) -> Bytes:
    """[num_tiles, bytes of a tile]"""
    parts = [_eight_bits(source, tensor) for tensor in tensors]
    signed = _by_tile(np.concatenate([part[0] for part in parts]))  # [tiles, 16, groups, 32] int8
    factors = _by_tile(np.concatenate([part[1] for part in parts]))  # [tiles, 16, groups] float32
    num_tiles, _, num_groups, _ = signed.shape
    codes = (signed.view(np.uint8) ^ 128).reshape(num_tiles, TILE, num_groups, 8, 4).transpose(0, 2, 3, 1, 4)
    scales = np.ascontiguousarray(factors.transpose(0, 2, 1)).view(np.uint8)
    shape = (num_tiles, num_groups, -1)
    return np.concatenate([codes.reshape(shape), scales.reshape(shape)], axis=2).reshape(num_tiles, -1)


def _four_bits(kind: str, blocks: Bytes) -> tuple[Bytes, NDArray[np.float16]]:
    """[rows, groups, 16] bytes (input i low, input 16 + i high), [rows, groups, 2] scale and minimum.

    The blocks are those of ggml: Q4_0 (f16 scale, nibbles meaning code - 8), Q4_1 (f16 scale, f16 minimum, nibbles).
    """
    if kind == "Q4_K":
        return _four_bits_of_k(blocks)
    rows = blocks.reshape(len(blocks), -1, 20 if kind == "Q4_1" else 18)
    header = 4 if kind == "Q4_1" else 2
    factors = np.ascontiguousarray(rows[..., :header]).view(np.float16)
    if kind == "Q4_0":
        factors = np.concatenate([factors, -8 * factors], axis=2)
    return rows[..., header:], factors


def _four_bits_of_k(blocks: Bytes) -> tuple[Bytes, NDArray[np.float16]]:
    """Q4_K: f16 scale of scales, f16 scale of minima, 12 bytes with 8 scales and 8 minima of 6 bits, 128 bytes codes.

    The codes of groups 2i and 2i + 1 are the low and the high nibbles of the same 32 bytes.
    """
    rows = blocks.reshape(len(blocks), -1, 144)
    outer = np.ascontiguousarray(rows[..., :4]).view(np.float16).astype(np.float32)
    packed = rows[..., 4:16].astype(np.uint8)
    low, middle, high = packed[..., 0:4], packed[..., 4:8], packed[..., 8:12]
    scales = np.concatenate([low & 63, (high & 15) | ((low >> 6) << 4)], axis=-1)
    minima = np.concatenate([middle & 63, (high >> 4) | ((middle >> 6) << 4)], axis=-1)
    factors = np.stack([outer[..., :1] * scales, -outer[..., 1:] * minima], axis=-1).astype(np.float16)
    pairs = rows[..., 16:].reshape(len(blocks), -1, 4, 1, 32)
    codes = np.concatenate([pairs & 15, pairs >> 4], axis=3).reshape(len(blocks), -1, GROUP)
    return codes[..., :16] | (codes[..., 16:] << 4), factors.reshape(len(blocks), -1, 2)


def _eight_bits(source: ModelSource, tensor: str) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """[rows, groups, 32] codes, [rows, groups] scales: Q8_0's own, of other formats the nearest."""
    if source.format(tensor) == "Q8_0":
        blocks = source.blocks(tensor)
        rows = blocks.reshape(len(blocks), -1, 34)
        scales = np.ascontiguousarray(rows[..., :2]).view(np.float16)[..., 0].astype(np.float32)
        return rows[..., 2:].view(np.int8), scales
    values = source.array(tensor)
    groups = values.reshape(len(values), -1, GROUP)
    scales = np.abs(groups).max(axis=2) / np.float32(127)
    return np.rint(groups / np.maximum(scales, 1e-30)[..., None]).astype(np.int8), scales


def _by_tile(rows: NDArray[_T]) -> NDArray[_T]:
    """[rows, ...] → [tiles, 16, ...], the last tile filled up with zeros."""
    return _padded(rows).reshape(-1, TILE, *rows.shape[1:])


def _padded(rows: NDArray[_T], multiple: int = TILE) -> NDArray[_T]:
    missing = -len(rows) % multiple
    return np.concatenate([rows, np.zeros((missing, *rows.shape[1:]), rows.dtype)]) if missing else rows


def num_outputs(config: ModelConfig, name: str) -> int:
    """Return the number of a matrix's outputs, without padding."""
    return {
        "qkv": (config.num_heads + 2 * config.num_kv_heads) * config.head_dim,
        "output": config.hidden_size,
        "gate_up": 2 * config.intermediate_size,
        "down": config.hidden_size,
        "embedding": config.vocab_size,
        "head": config.vocab_size,
    }[name]
