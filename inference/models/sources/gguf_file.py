"""A GGUF model file, opened and checked. Knows nothing of PyTorch.

The tensors are mapped into memory, not read; the gguf package dequantises them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.modelfiles.errors import ModelFileError, damaged, unsupported
from inference.modelfiles.fields import Fields
from inference.modelfiles.gguf_header import BLOCKS, TensorInfo, read_header
from inference.models.config import MAX_LAYERS, MAX_WIDTH, ModelConfig
from inference.models.sources.families import FAMILIES, Family
from inference.models.sources.source import check_finite, check_shapes

__all__ = ["GgufFile", "ModelFileError"]

_ROPE_DIVISORS = "rope_freqs.weight"
"""Llama 3's scaling as the converter computed it: the divisor of each pair's frequency."""


class GgufFile:
    """Read-only view of one model file; a ModelSource."""

    def __init__(self, path: Path) -> None:
        """Raises ModelFileError."""
        self.path = path
        self.files: tuple[Path, ...] = (path,)
        header = read_header(path, lambda name: not name.startswith("tokenizer."))
        self._tensors = header.tensors
        self._data = np.memmap(path, np.uint8, mode="r")
        architecture = Fields(path, header.fields).text("general.architecture")
        if architecture not in FAMILIES:
            raise unsupported(path, f"architecture {architecture}", tuple(FAMILIES))
        fields = Fields(path, header.fields, f"{architecture}.")
        self.config = self._build_config(architecture, FAMILIES[architecture], fields)
        if problem := self.config.problem():
            raise damaged(path, f"its header describes {problem}")
        check_shapes(path, self.config, {n: t.shape for n, t in self._tensors.items() if n != _ROPE_DIVISORS})
        for name in self._tensors:
            self._tensor(name)

    def _build_config(self, architecture: str, family: Family, fields: Fields) -> ModelConfig:
        num_heads, hidden_size = fields.count("attention.head_count"), fields.count("embedding_length")
        num_layers = fields.count("block_count")
        head_dim = fields.count("attention.key_length", hidden_size // max(num_heads, 1))
        for name, plain in (
            ("rope.dimension_count", head_dim),
            ("attention.value_length", head_dim),
            ("expert_count", 0),
        ):
            fields.expect(name, plain)
        is_large = family.large_num_layers == num_layers and num_heads > 0
        return ModelConfig(
            architecture=architecture,
            quantization=self._main_format(),
            num_layers=num_layers,
            hidden_size=hidden_size,
            intermediate_size=fields.count("feed_forward_length"),
            num_heads=num_heads,
            num_kv_heads=fields.count("attention.head_count_kv", num_heads),
            head_dim=head_dim,
            vocab_size=self._tensor("token_embd.weight").shape[0],
            context_length=fields.count("context_length"),
            norm_eps=fields.number("attention.layer_norm_rms_epsilon"),
            rope_theta=fields.number("rope.freq_base", family.rope_theta),
            rope_pairing=family.gguf_pairing,
            rope_divisors=self._rope_divisors(fields, head_dim),
            rope_theta_sliding=fields.number("rope.freq_base_swa", family.rope_theta_sliding),
            has_qkv_bias=family.has_qkv_bias,
            has_qk_norm=family.has_qk_norm,
            has_post_norms=family.is_gemma,
            activation="gelu_tanh" if family.is_gemma else "silu",
            embedding_scale=max(hidden_size, 0) ** 0.5 if family.is_gemma else 1.0,
            query_scale=max(hidden_size // num_heads if is_large else head_dim, 1) ** -0.5,
            attention_softcap=fields.optional("attn_logit_softcapping"),
            logit_softcap=fields.optional("final_logit_softcapping"),
            sliding_window=fields.count("attention.sliding_window") if family.sliding_pattern else None,
            sliding_layers=_sliding_layers(family, fields, num_layers),
        )

    def _rope_divisors(self, fields: Fields, head_dim: int) -> tuple[float, ...]:
        if _ROPE_DIVISORS in self._tensors:
            return tuple(self.array(_ROPE_DIVISORS).flatten().tolist())
        kind = fields.get("rope.scaling.type") or "none"
        if kind not in ("none", "linear"):
            raise unsupported(self.path, f"rope.scaling.type = {kind}")
        factor = fields.number("rope.scaling.factor", 1.0) if kind == "linear" else 1.0
        return () if factor == 1 else (factor,) * (min(head_dim, MAX_WIDTH) // 2)

    def _main_format(self) -> str:
        matrices = Counter(tensor.format for tensor in self._tensors.values() if len(tensor.shape) == 2)
        return matrices.most_common(1)[0][0] if matrices else "none"

    def _tensor(self, name: str) -> TensorInfo:
        if name not in self._tensors:
            raise damaged(self.path, f"tensor {name} is missing")
        tensor = self._tensors[name]
        if tensor.format not in BLOCKS:
            raise unsupported(self.path, f"{name} is {tensor.format}, which", tuple(BLOCKS))
        return tensor

    def has(self, name: str) -> bool:
        return name in self._tensors

    def format(self, name: str) -> str:
        return self._tensor(name).format

    def blocks(self, name: str) -> NDArray[np.uint8]:
        tensor = self._tensor(name)
        data = self._data[tensor.start : tensor.start + tensor.num_bytes]
        rows: NDArray[np.uint8] = data.view(np.ndarray).reshape(*tensor.shape[:-1], -1)
        return rows

    def array(self, name: str) -> NDArray[np.float32]:
        return check_finite(self.path, name, _dequantized(self.blocks(name), self._tensor(name)))


def _dequantized(data: NDArray[np.uint8], tensor: TensorInfo) -> NDArray[np.float32]:
    if tensor.format == "F32":
        return data.view(np.float32).reshape(tensor.shape).copy()
    if tensor.format == "F16":
        return data.view(np.float16).reshape(tensor.shape).astype(np.float32)
    import gguf

    kind = gguf.GGMLQuantizationType[tensor.format]
    values: NDArray[np.float32] = gguf.quants.dequantize(data, kind)
    return values.reshape(tensor.shape)


def _sliding_layers(family: Family, fields: Fields, num_layers: int) -> frozenset[int]:
    if not family.sliding_pattern:
        return frozenset()
    name = "attention.sliding_window_pattern"
    layers = range(min(num_layers, MAX_LAYERS))
    if isinstance(flags := fields.get(name), list):  # one truth value per layer
        return frozenset(layer for layer, is_sliding in zip(layers, flags, strict=False) if is_sliding)
    pattern = max(fields.count(name, family.sliding_pattern), 1)
    return frozenset(layer for layer in layers if (layer + 1) % pattern)
