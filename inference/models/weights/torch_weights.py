"""A model's weights in the forms that the PyTorch decoder multiplies. Knows nothing of the multiplication."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inference.models.sources.source import ModelSource
from inference.models.sources.tensor_shapes import OUTPUT
from inference.models.weights.linear import best_dense_dtype, pack_int8, pack_linear
from inference.models.weights.packed_cache import PackedCache, source_key

_FORM = f"torch 2 {torch.__version__} {torch.backends.cpu.get_cpu_capability()}"
"""Form of the kept weights. The int4 kernel's layout depends on PyTorch's version and on the processor."""

_NORMS = {
    "attention_norm": "attn_norm",
    "mlp_norm": "ffn_norm",
    "q_norm": "attn_q_norm",
    "k_norm": "attn_k_norm",
    "attention_post_norm": "post_attention_norm",
    "mlp_post_norm": "post_ffw_norm",
}
_MATRICES = {
    "qkv": ("attn_q", "attn_k", "attn_v"),
    "output": ("attn_output",),
    "gate_up": ("ffn_gate", "ffn_up"),
    "down": ("ffn_down",),
}


class Weights(dict[str, Tensor]):
    """Tensors by name: "3.qkv.int4" is one form of layer 3's matrix for query, key and value."""

    def part(self, prefix: str) -> Weights:
        """Return the tensors whose names begin with the prefix, without it."""
        return Weights({name.removeprefix(prefix): value for name, value in self.items() if name.startswith(prefix)})


def load_weights(
    source: ModelSource,
    on_progress: Callable[[float], None],
    cache: PackedCache | None,
    dtype: torch.dtype | None,
) -> Weights:
    """See load_decoder."""
    is_compact, kind = dtype is None, dtype or best_dense_dtype()

    def build() -> dict[str, NDArray[Any]]:
        return to_arrays(pack_weights(source, kind, is_compact, on_progress))

    form = f"{_FORM} {kind} {is_compact}"
    arrays = cache.load_or_build(source_key(source, form), build) if cache else build()
    on_progress(1.0)
    return from_arrays(arrays)


def load_on_device(
    source: ModelSource, on_progress: Callable[[float], None], dtype: torch.dtype, device: torch.device
) -> Weights:
    """Read all matrices in dtype, each moved as soon as it is read; none is kept on disk. Raises ModelFileError."""
    weights = pack_weights(source, dtype, False, on_progress, device)
    for name in ("embedding", "head"):
        if name in weights:
            weights[name] = weights[name].to(dtype)
    on_progress(1.0)
    return weights


def pack_weights(
    source: ModelSource,
    dtype: torch.dtype,
    is_compact: bool,
    on_progress: Callable[[float], None],
    device: torch.device | None = None,
) -> Weights:
    """Read and pack all weights. dtype: of the dense forms. Raises ModelFileError."""
    weights, num_layers = Weights(), source.config.num_layers
    for layer in range(num_layers):
        block = _pack_block(source, layer, dtype, is_compact)
        weights |= {f"{layer}.{name}": value.to(device) for name, value in block.items()}
        on_progress((layer + 1) / (num_layers + 1))
    weights["output_norm"] = torch.from_numpy(source.array("output_norm.weight")).to(device)
    weights["embedding"] = _table(source, "token_embd.weight").to(device)
    head = weights["embedding"]
    if source.has(OUTPUT):
        head = weights["head"] = _table(source, OUTPUT).to(device)
    if is_compact:
        weights |= {f"head.{name}": value for name, value in pack_int8(head.float()).items()}
    return weights


def _pack_block(source: ModelSource, layer: int, dtype: torch.dtype, is_compact: bool) -> dict[str, Tensor]:
    packed: dict[str, Tensor] = {}
    for name, own in _NORMS.items():
        if source.has(full := f"blk.{layer}.{own}.weight"):
            packed[name] = torch.from_numpy(source.array(full))
    if source.config.has_qkv_bias:
        biases = [source.array(f"blk.{layer}.{name}.bias") for name in _MATRICES["qkv"]]
        packed["qkv_bias"] = torch.from_numpy(np.concatenate(biases))
    for name, parts in _MATRICES.items():
        matrix = pack_linear(source, [f"blk.{layer}.{part}.weight" for part in parts], dtype, is_compact)
        packed |= {f"{name}.{form}": value for form, value in matrix.items()}
    return packed


def _table(source: ModelSource, name: str) -> Tensor:
    """Return a matrix that is looked up by rows: in its own precision where that is a plain type, else in float32."""
    kind = {"F16": torch.float16, "BF16": torch.bfloat16}.get(source.format(name), torch.float32)
    return torch.from_numpy(source.array(name)).to(kind)


def to_arrays(weights: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Return arrays for a file; bfloat16, which NumPy does not have, as uint16."""
    plain = {
        name: value.view(torch.uint16) if value.dtype == torch.bfloat16 else value for name, value in weights.items()
    }
    return {name: value.contiguous().numpy() for name, value in plain.items()}


def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Weights:
    """Return the weights that to_arrays was given."""
    tensors = {name: torch.from_numpy(value) for name, value in arrays.items()}
    return Weights(
        {name: value.view(torch.bfloat16) if value.dtype == torch.uint16 else value for name, value in tensors.items()}
    )
