"""A GGUF model file, opened and checked. Knows nothing of PyTorch.

Follows the GGUF specification (ggml, docs/gguf.md), versions 2 and 3.
"""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from inference.models.config import ModelConfig
from inference.models.tensor_shapes import OUTPUT, expected_shapes

SUPPORTED_ARCHITECTURES = ("llama",)
SUPPORTED_FORMATS = ("F32", "F16", "Q8_0", "Q4_1")
_MAX_COUNT = 1_000_000
"""More tensors or metadata entries than this is a damaged or hostile header."""


class ModelFileError(Exception):
    """The model file is missing, damaged or of a kind that we cannot run; the message says which."""


class GgufFile:
    """Read-only view of one model file."""

    def __init__(self, path: Path) -> None:
        """Raises ModelFileError."""
        _check_header(path)
        try:
            self._reader = gguf.GGUFReader(str(path))
        except Exception as error:  # the reader fails in many ways on damaged files
            advice = "download it again, or set SIGHTGLASS_MODEL to another GGUF file"
            raise ModelFileError(f"{path} is damaged or truncated; {advice} ({error})") from error
        self.path = path
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}
        self.config = self._build_config()
        self._check_variant()
        self._check_tensors()

    def _build_config(self) -> ModelConfig:
        architecture = str(self._field("general.architecture"))
        if architecture not in SUPPORTED_ARCHITECTURES:
            known = ", ".join(SUPPORTED_ARCHITECTURES)
            raise ModelFileError(f"{self.path}: architecture {architecture} is not supported; use one of: {known}")
        num_heads, hidden_size = self._count("attention.head_count"), self._count("embedding_length")
        config = ModelConfig(
            architecture=architecture,
            num_layers=self._count("block_count"),
            hidden_size=hidden_size,
            intermediate_size=self._count("feed_forward_length"),
            num_heads=num_heads,
            num_kv_heads=self._count("attention.head_count_kv", num_heads),
            head_dim=hidden_size // max(num_heads, 1),
            vocab_size=int(self._tensor("token_embd.weight").shape[-1]),
            context_length=self._count("context_length"),
            rope_theta=self._number("rope.freq_base", 10_000.0),
            norm_eps=self._number("attention.layer_norm_rms_epsilon"),
            quantization=self._main_format(),
        )
        if problem := config.problem():
            raise ModelFileError(f"{self.path} is damaged: its header describes {problem}")
        return config

    def _check_tensors(self) -> None:
        shapes = expected_shapes(self.config)
        if self.has(OUTPUT):
            shapes[OUTPUT] = shapes["token_embd.weight"]
        for name, expected in shapes.items():
            shape = tuple(int(size) for size in reversed(self._tensor(name).shape))
            if shape != expected:
                raise ModelFileError(f"{self.path} is damaged: {name} has shape {shape}, its header says {expected}")
        if unknown := sorted(self._tensors.keys() - shapes.keys()):
            raise ModelFileError(f"{self.path}: tensor {unknown[0]} belongs to a variant that is not supported")

    def _check_variant(self) -> None:
        """Refuse what would change the mathematics, rather than ignore it."""
        for name, plain in self._plain_values().items():
            value = self._optional(f"{self.config.architecture}.{name}")
            if value is not None and value != plain:
                raise ModelFileError(f"{self.path}: {name} = {value} is not supported")

    def _plain_values(self) -> dict[str, object]:
        head_dim = self.config.head_dim
        return {
            "rope.scaling.type": "none",
            "rope.dimension_count": head_dim,
            "attention.key_length": head_dim,
            "attention.value_length": head_dim,
            "expert_count": 0,
        }

    def _number(self, name: str, default: float | None = None) -> float:
        name = f"{self._field('general.architecture')}.{name}"
        value = self._field(name) if default is None else self._optional(name)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ModelFileError(f"{self.path}: {name} is {value!r}; it must be a number")
        return float(value)

    def _count(self, name: str, default: int | None = None) -> int:
        value = self._number(name, default)
        if not value.is_integer():
            raise ModelFileError(f"{self.path}: {name} is {value}; it must be a whole number")
        return int(value)

    def _optional(self, name: str) -> Any:
        field = self._reader.get_field(name)
        return None if field is None else field.contents()

    def _field(self, name: str) -> Any:
        value = self._optional(name)
        if value is None:
            raise ModelFileError(f"{self.path}: the metadata has no {name}")
        return value

    def _main_format(self) -> str:
        return Counter(t.tensor_type.name for t in self._tensors.values() if len(t.shape) == 2).most_common(1)[0][0]

    def _tensor(self, name: str) -> gguf.ReaderTensor:
        if name not in self._tensors:
            raise ModelFileError(f"{self.path}: tensor {name} is missing")
        tensor = self._tensors[name]
        if tensor.tensor_type.name not in SUPPORTED_FORMATS:
            known = ", ".join(SUPPORTED_FORMATS)
            raise ModelFileError(f"{self.path}: {name} is {tensor.tensor_type.name}; supported formats are {known}")
        return tensor

    def has(self, name: str) -> bool:
        return name in self._tensors

    def format(self, name: str) -> str:
        """The tensor's format, e.g. Q4_1. Raises ModelFileError when it is missing or unsupported."""
        return str(self._tensor(name).tensor_type.name)

    def blocks(self, name: str) -> NDArray[np.uint8]:
        """The tensor's quantised blocks, [num_out, bytes per row] uint8."""
        return self._tensor(name).data.view(np.uint8)

    def array(self, name: str) -> NDArray[np.float32]:
        """The tensor dequantised, [num_out, num_in] (or [n]) float32."""
        tensor = self._tensor(name)
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        if not np.isfinite(values).all():
            raise ModelFileError(f"{self.path}: {name} holds NaN or infinity; the file is damaged")
        return np.array(values, dtype=np.float32)


def _check_header(path: Path) -> None:
    """Refuse what is not a GGUF file before a parser allocates anything for it."""
    if not path.is_file():
        raise ModelFileError(f"the model file {path} does not exist; set SIGHTGLASS_MODEL to a GGUF file")
    with path.open("rb") as file:
        header = file.read(24)
    if len(header) < 24 or header[:4] != b"GGUF":
        raise ModelFileError(f"{path} is not a GGUF file (wrong magic)")
    version, num_tensors, num_fields = struct.unpack("<IQQ", header[4:])
    if version not in (2, 3):
        raise ModelFileError(f"{path} has GGUF version {version}; versions 2 and 3 can be read")
    if num_tensors > _MAX_COUNT or num_fields > _MAX_COUNT:
        raise ModelFileError(f"{path} claims {num_tensors} tensors and {num_fields} fields; the header is damaged")
