"""The source of a model's weights: one small protocol for all kinds of files. Knows nothing of decoders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from inference.modelfiles.errors import ModelFileError, damaged, missing, unsupported
from inference.models.config import ModelConfig
from inference.models.sources.tensor_shapes import OUTPUT, expected_shapes

__all__ = ["ModelFileError", "ModelSource", "open_model"]


class ModelSource(Protocol):
    """A model's configuration and its tensors, under GGUF's names. All methods raise ModelFileError."""

    path: Path
    config: ModelConfig
    files: tuple[Path, ...]
    """All files from which the weights are read."""

    def has(self, name: str) -> bool: ...

    def format(self, name: str) -> str:
        """Return the tensor's format in GGUF's terms, e.g. F32, BF16, Q4_1."""

    def blocks(self, name: str) -> NDArray[np.uint8]:
        """Return the tensor's rows as they stand in the file, [num_out, bytes per row] uint8."""

    def array(self, name: str) -> NDArray[np.float32]:
        """Return the tensor dequantised, [num_out, num_in] (or [n]) float32, finite."""


def open_model(path: Path) -> ModelSource:
    """Open a GGUF file, or a folder with config.json and safetensors. Raises ModelFileError."""
    if not path.exists():
        raise missing(path)
    if path.is_dir():  # imported here: it needs PyTorch, which takes a second
        from inference.models.sources.safetensors_folder import SafetensorsFolder

        return SafetensorsFolder(path)
    from inference.models.sources.gguf_file import GgufFile

    return GgufFile(path)


def check_shapes(path: Path, config: ModelConfig, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse tensors that are missing, of another shape, or of a variant that we would compute wrongly."""
    expected = expected_shapes(config)
    if OUTPUT in shapes:
        expected[OUTPUT] = expected["token_embd.weight"]
    for name, shape in expected.items():
        if name not in shapes:
            raise damaged(path, f"tensor {name} is missing")
        if shapes[name] != shape:
            raise damaged(path, f"{name} has shape {shapes[name]}, its header says {shape}")
    if unknown := sorted(shapes.keys() - expected.keys()):
        raise unsupported(path, f"tensor {unknown[0]} belongs to a variant that")


def check_finite(path: Path, name: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
    if not np.isfinite(values).all():
        raise damaged(path, f"{name} holds NaN or infinity")
    return values
