"""A GGUF file's model once more in another weight format, with the same metadata."""

from __future__ import annotations

import re
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from inference.models.sources.gguf_file import GgufFile
from tests.inference.models.k_quants import BLOCK, quantize_k

K_BY_TURNS = "Q4_K, Q5_K and Q6_K"
"""Layer by layer; where a row is no multiple of 256, Q5_0, as llama.cpp does it."""


def rewrite(model: Path, target: Path, quantization: str) -> Path:
    """Matrices from the dequantised tensors in the given format (or K_BY_TURNS), all else as it was."""
    reader, source = gguf.GGUFReader(str(model)), GgufFile(model)
    writer = gguf.GGUFWriter(target, source.config.architecture)
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
            continue
        inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), field.types[0], inner)
    for tensor in reader.tensors:
        values = source.array(tensor.name)
        if values.ndim == 1 or quantization == "F32":
            writer.add_tensor(tensor.name, values)
        else:
            kind = _by_turns(tensor.name, values) if quantization == K_BY_TURNS else quantization
            writer.add_tensor(tensor.name, _quantized(values, kind), raw_dtype=gguf.GGMLQuantizationType[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def _by_turns(name: str, values: NDArray[np.float32]) -> str:
    layer = re.search(r"\d+", name)
    return "Q5_0" if values.shape[1] % BLOCK or layer is None else ("Q4_K", "Q5_K", "Q6_K")[int(layer[0]) % 3]


def _quantized(values: NDArray[np.float32], kind: str) -> NDArray[np.uint8]:
    if kind.endswith("_K"):
        return quantize_k(values, kind)
    blocks: NDArray[np.uint8] = gguf.quants.quantize(values, gguf.GGMLQuantizationType[kind])
    return blocks
