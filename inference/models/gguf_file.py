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
            raise ModelFileError(f"{path} is damaged or truncated: {error}") from error
        self.path = path
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}
        self.config = self._build_config()

    def _build_config(self) -> ModelConfig:
        architecture = str(self._field("general.architecture"))
        if architecture not in SUPPORTED_ARCHITECTURES:
            known = ", ".join(SUPPORTED_ARCHITECTURES)
            raise ModelFileError(f"{self.path}: architecture {architecture} is not supported; use one of: {known}")

        def number(name: str) -> Any:
            return self._field(f"{architecture}.{name}")

        num_heads, hidden_size = int(number("attention.head_count")), int(number("embedding_length"))
        return ModelConfig(
            architecture=architecture,
            num_layers=int(number("block_count")),
            hidden_size=hidden_size,
            intermediate_size=int(number("feed_forward_length")),
            num_heads=num_heads,
            num_kv_heads=int(number("attention.head_count_kv")),
            head_dim=hidden_size // num_heads,
            vocab_size=int(self._tensor("token_embd.weight").shape[1]),
            context_length=int(number("context_length")),
            rope_theta=float(number("rope.freq_base")),
            norm_eps=float(number("attention.layer_norm_rms_epsilon")),
            quantization=self._main_format(),
        )

    def _field(self, name: str) -> Any:
        field = self._reader.get_field(name)
        if field is None:
            raise ModelFileError(f"{self.path}: the metadata has no {name}")
        return field.contents()

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
