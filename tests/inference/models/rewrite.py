"""A GGUF file's model once more in another weight format, with the same metadata."""

from __future__ import annotations

from pathlib import Path

import gguf

from inference.models.gguf_file import GgufFile


def rewrite(model: Path, target: Path, quantization: str) -> Path:
    """Matrices from the dequantised tensors in the given format, all else as it was."""
    reader, source = gguf.GGUFReader(str(model)), GgufFile(model)
    writer = gguf.GGUFWriter(target, source.config.architecture)
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
            continue
        inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), field.types[0], inner)
    kind = gguf.GGMLQuantizationType[quantization]
    for tensor in reader.tensors:
        values = source.array(tensor.name)
        if values.ndim == 1 or quantization == "F32":
            writer.add_tensor(tensor.name, values)
        else:
            writer.add_tensor(tensor.name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target
