"""A Hugging Face folder: config.json and weights in safetensors, whole or sharded. Never reads pickles."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from inference.modelfiles.errors import damaged, unsupported
from inference.modelfiles.json_file import read_json
from inference.models.config import ModelConfig
from inference.models.sources.hf_config import build_config
from inference.models.sources.source import check_finite, check_shapes

_FORMATS = ("F32", "F16", "BF16")
_WHOLE, _INDEX = "model.safetensors", "model.safetensors.index.json"
_OUTER = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}
_INNER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_PLAIN_NORMS = {"post_attention_layernorm": "ffn_norm"}
_GEMMA_NORMS = {
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
_IGNORED = re.compile(r"rotary_emb\.inv_freq$")
"""Tensors that old converters wrote beside the weights; the configuration has the same values."""


class SafetensorsFolder:
    """Read-only view of one model folder; a ModelSource."""

    def __init__(self, path: Path) -> None:
        """Raises ModelFileError."""
        self.path = path
        values = read_json(path / "config.json")
        self._is_gemma = str(values.get("model_type", "")).startswith("gemma")
        self._files = _weight_files(path)
        self.files: tuple[Path, ...] = (path / "config.json", *sorted(set(self._files.values())))
        self._names = self._gguf_names()
        if values.get("tie_word_embeddings", self._is_gemma) is True:
            self._names.pop("output.weight", None)
        elif "output.weight" not in self._names:
            raise damaged(path, "it has no lm_head.weight, but its config.json does not tie it to the embedding")
        self.config: ModelConfig = build_config(path / "config.json", values, self.format("token_embd.weight"))
        check_shapes(path, self.config, {name: self._shape(name) for name in self._names})

    def _gguf_names(self) -> dict[str, str]:
        inner = _INNER | (_GEMMA_NORMS if self._is_gemma else _PLAIN_NORMS)
        names = {}
        for name in self._files:
            found = re.fullmatch(r"model\.layers\.(\d+)\.(.+)\.(weight|bias)", name)
            if found and found[2] in inner:
                names[f"blk.{int(found[1])}.{inner[found[2]]}.{found[3]}"] = name
            elif not _IGNORED.search(name):
                names[_OUTER.get(name, name)] = name
        return names

    def _open(self, name: str) -> Any:
        if name not in self._names:
            raise damaged(self.path, f"tensor {name} is missing")
        return self._handles[self._files[self._names[name]]]

    @cached_property
    def _handles(self) -> dict[Path, Any]:
        return {path: _opened(path) for path in set(self._files.values())}

    def _shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._slice(name).get_shape())

    def _slice(self, name: str) -> Any:
        try:
            return self._open(name).get_slice(self._names[name])
        except SafetensorError as error:
            raise damaged(self._files[self._names[name]], f"{error}") from error

    def has(self, name: str) -> bool:
        return name in self._names

    def format(self, name: str) -> str:
        kind = str(self._slice(name).get_dtype())
        if kind not in _FORMATS:
            raise unsupported(self.path, f"{name} is {kind}, which", _FORMATS)
        return kind

    def _tensor(self, name: str) -> torch.Tensor:
        self.format(name)
        tensor: torch.Tensor = self._open(name).get_tensor(self._names[name])
        return tensor

    def blocks(self, name: str) -> NDArray[np.uint8]:
        tensor = self._tensor(name)
        return tensor.view(torch.uint8).reshape(*tensor.shape[:-1], -1).numpy()

    def array(self, name: str) -> NDArray[np.float32]:
        values: NDArray[np.float32] = self._tensor(name).float().numpy()
        if self._is_gemma and name.endswith("norm.weight"):
            values = values + np.float32(1)  # Gemma scales by 1 + weight; GGUF's tensors hold the sum
        return check_finite(self.path, name, values)


def _opened(path: Path) -> Any:
    try:
        return safe_open(path, "pt")
    except (SafetensorError, OSError) as error:
        raise damaged(path, f"{error}") from error


def _weight_files(path: Path) -> dict[str, Path]:
    """Tensor → the file that holds it."""
    if (path / _WHOLE).is_file():
        return dict.fromkeys(_opened(path / _WHOLE).keys(), path / _WHOLE)
    if not (path / _INDEX).is_file():
        raise damaged(path, f"it has neither {_WHOLE} nor {_INDEX}; other kinds of weights are not read")
    listed = read_json(path / _INDEX).get("weight_map")
    if not isinstance(listed, dict) or not all(isinstance(name, str) for name in listed.values()):
        raise damaged(path / _INDEX, "it has no weight_map")
    held: dict[str, Path] = {}
    for name in sorted(set(listed.values())):
        if Path(name).name != name or not (path / name).is_file():
            raise damaged(path / _INDEX, f"it names the file {name}, which is not there")
        held |= dict.fromkeys(_opened(path / name).keys(), path / name)
    if lost := sorted(listed.keys() - held.keys()):
        raise damaged(path / _INDEX, f"it names {lost[0]}, which no file holds")
    return held
