"""The header of a GGUF file: metadata and the tensors' positions. Knows nothing of their meaning.

Follows the GGUF specification (ggml, docs/gguf.md), versions 2 and 3, little-endian. The general reader of the gguf
package takes seconds for a vocabulary's strings; this one skips unwanted fields. Every count and length is checked
before anything is allocated for it.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inference.modelfiles.errors import ModelFileError, damaged, missing

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LENGTH = struct.Struct("<Q")
_MAX_FIELDS = 100_000
_MAX_ITEMS = 2_000_000
"""Most items of one list: no vocabulary is larger; a header that claims more is damaged."""
_MAX_DIMENSIONS = 4
_MAX_SIZE = 1 << 40
_DEFAULT_ALIGNMENT = 32

BLOCKS: dict[str, tuple[int, int]] = {
    "F32": (1, 4),
    "F16": (1, 2),
    "BF16": (1, 2),
    "Q8_0": (32, 34),
    "Q4_0": (32, 18),
    "Q4_1": (32, 20),
    "Q5_0": (32, 22),
    "Q4_K": (256, 144),
    "Q5_K": (256, 176),
    "Q6_K": (256, 210),
}
"""The tensor formats that can be read: weights and bytes of one block."""
_FORMATS = {0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 8: "Q8_0", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K"} | {
    7: "Q5_1", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S",
    20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64",
    29: "IQ1_M", 30: "BF16", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4",
}  # fmt: skip


@dataclass(frozen=True)
class TensorInfo:
    """One tensor's shape, format and place in the file."""

    shape: tuple[int, ...]
    """[num_out, num_in] or [n]: the last dimension is contiguous, as in NumPy."""
    format: str
    start: int
    """Offset in the file, in bytes."""
    num_bytes: int
    """0 where the format is not one of BLOCKS."""


@dataclass(frozen=True)
class GgufHeader:
    """The part of the file before the tensors' data."""

    fields: dict[str, Any]
    tensors: dict[str, TensorInfo]


def read_header(path: Path, is_wanted: Callable[[str], bool]) -> GgufHeader:
    """Read the header; `fields` holds only the metadata with wanted names. Raises ModelFileError."""
    if not path.is_file():
        raise missing(path)
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Reader(data).read(is_wanted)
    except (struct.error, UnicodeDecodeError, ValueError, OverflowError, MemoryError) as error:
        advice = "download it again, or choose another"
        raise ModelFileError(f"{path} is not a whole GGUF file; {advice} ({error})") from error
    except EOFError as error:
        raise damaged(path, error) from error


class _Reader:
    """A cursor over the header. Raises ValueError for an invalid header, EOFError for tensors beyond the end."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._offset = 4

    def read(self, is_wanted: Callable[[str], bool]) -> GgufHeader:
        if self._data[:4] != b"GGUF":
            raise ValueError("wrong magic")
        version = self._scalar("I")
        if version not in (2, 3):
            raise ValueError(f"GGUF version {version}; versions 2 and 3 can be read")
        num_tensors, num_fields = self._count(_MAX_FIELDS), self._count(_MAX_FIELDS)
        fields: dict[str, Any] = {}
        for _ in range(num_fields):
            name, kind = self._string(), self._scalar("I")
            if name in fields:
                raise ValueError(f"{name} is given twice")
            fields[name] = self._value(kind, is_wanted(name) or name == "general.alignment")
        tensors = self._tensors(num_tensors, fields.get("general.alignment", _DEFAULT_ALIGNMENT))
        return GgufHeader({name: value for name, value in fields.items() if is_wanted(name)}, tensors)

    def _tensors(self, num_tensors: int, alignment: Any) -> dict[str, TensorInfo]:
        if not isinstance(alignment, int) or not 1 <= alignment <= 1 << 16:
            raise ValueError(f"an alignment of {alignment}")
        tensors: dict[str, TensorInfo] = {}
        for _ in range(num_tensors):
            name = self._string()
            if name in tensors:
                raise ValueError(f"tensor {name} is given twice")
            tensors[name] = self._tensor(name)
        base = -(-self._offset // alignment) * alignment
        for name, tensor in tensors.items():
            if (end := base + tensor.start + tensor.num_bytes) > len(self._data):
                raise EOFError(f"{name} ends at byte {end}, the file at {len(self._data)}")
        return {
            name: TensorInfo(tensor.shape, tensor.format, base + tensor.start, tensor.num_bytes)
            for name, tensor in tensors.items()
        }

    def _tensor(self, name: str) -> TensorInfo:
        """Read one tensor's entry; its start is counted from the first tensor's data."""
        num_dimensions = self._scalar("I")
        if not 1 <= num_dimensions <= _MAX_DIMENSIONS:
            raise ValueError(f"{name} has {num_dimensions} dimensions")
        shape = tuple(reversed([self._scalar("Q") for _ in range(num_dimensions)]))
        code, start = self._scalar("I"), self._scalar("Q")
        if min(shape) < 1 or math.prod(shape) > _MAX_SIZE:
            raise ValueError(f"{name} claims the shape {shape}")
        kind = _FORMATS.get(code, f"of type {code}")
        per_block, block_bytes = BLOCKS.get(kind, (1, 0))
        if shape[-1] % per_block:
            raise ValueError(f"{name} has rows of {shape[-1]} weights; {kind} takes them by {per_block}")
        return TensorInfo(shape, kind, start, math.prod(shape) // per_block * block_bytes)

    def _scalar(self, form: str) -> Any:
        (value,) = struct.unpack_from("<" + form, self._data, self._offset)
        self._offset += struct.calcsize("<" + form)
        return value

    def _count(self, most: int) -> int:
        count = int(self._scalar("Q"))
        if count > most:
            raise ValueError(f"it claims a list of {count}")
        return count

    def _string(self) -> str:
        (text,) = self._strings(1)
        return text

    def _value(self, kind: int, is_wanted: bool) -> Any:
        if kind == _ARRAY:
            return self._array(is_wanted)
        return self._string() if kind == _STRING else self._scalar(_scalar_form(kind))

    def _array(self, is_wanted: bool) -> Any:
        kind, count = self._scalar("I"), self._count(_MAX_ITEMS)
        if kind != _STRING:
            form, start = f"<{count}{_scalar_form(kind)}", self._offset
            self._offset += struct.calcsize(form)
            if self._offset > len(self._data):
                raise ValueError(f"a list claims {count} items")
            return list(struct.unpack_from(form, self._data, start)) if is_wanted else None
        return self._strings(count) if is_wanted else self._skip_strings(count)

    def _strings(self, count: int) -> list[str]:
        """Read a list of strings. A vocabulary has 50,000 and more: this loop makes few calls for each."""
        data, at, size, texts = self._data, self._offset, len(self._data), []
        for _ in range(count):
            (length,) = _LENGTH.unpack_from(data, at)
            start, at = at + _LENGTH.size, at + _LENGTH.size + length
            if at > size:
                raise ValueError(f"a string claims {length} bytes")
            texts.append(data[start:at].decode("utf-8"))
        self._offset = at
        return texts

    def _skip_strings(self, count: int) -> None:
        data, at, size = self._data, self._offset, len(self._data)
        for _ in range(count):
            (length,) = _LENGTH.unpack_from(data, at)
            at += _LENGTH.size + length
            if at > size:
                raise ValueError(f"a string claims {length} bytes")
        self._offset = at


def _scalar_form(kind: int) -> str:
    if kind not in _SCALARS:
        raise ValueError(f"value type {kind}")
    return _SCALARS[kind]
