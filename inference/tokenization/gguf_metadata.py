"""The tokenizer's part of a GGUF file's metadata. Knows nothing of tokenization.

Reading 98,000 strings through the general reader takes seconds, so this walks the header itself (GGUF specification,
ggml docs/gguf.md) and keeps only what is asked for.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SCALARS = {0: "B", 1: "b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_MAX_ITEMS = 2_000_000
"""No vocabulary is larger; a header that claims more is damaged."""

_MAX_HEADER_BYTES = 64 << 20
"""Metadata stands before the tensors; the largest vocabularies need a few MB."""


class TokenizerError(Exception):
    """The file's tokenizer is missing, damaged or of a kind that we cannot rebuild."""


@dataclass(frozen=True)
class Metadata:
    """What the tokenizer and the chat template are made from."""

    name: str
    architecture: str
    context_length: int
    model: str
    pre: str
    tokens: tuple[str, ...]
    token_types: tuple[int, ...]
    merges: tuple[str, ...]
    eos_id: int
    bos_id: int
    chat_template: str | None


def read_metadata(path: Path) -> Metadata:
    """Raises TokenizerError."""
    if not path.is_file():
        raise TokenizerError(f"the model file {path} does not exist; set SIGHTGLASS_MODEL to a GGUF file")
    try:
        fields = _Reader(path).read()
    except (struct.error, UnicodeDecodeError, IndexError, ValueError, OverflowError, MemoryError) as error:
        advice = "download it again, or set SIGHTGLASS_MODEL to another"
        raise TokenizerError(f"{path} is not a whole GGUF file; {advice} ({error})") from error
    return _build(path, fields)


def _build(path: Path, fields: dict[str, Any]) -> Metadata:
    def need(name: str) -> Any:
        if name not in fields:
            raise TokenizerError(f"{path}: the metadata has no {name}; use a GGUF file that carries its tokenizer")
        return fields[name]

    architecture = need("general.architecture")
    return Metadata(
        name=fields.get("general.name", path.stem),
        architecture=architecture,
        context_length=int(need(f"{architecture}.context_length")),
        model=need("tokenizer.ggml.model"),
        pre=fields.get("tokenizer.ggml.pre", "default"),
        tokens=tuple(need("tokenizer.ggml.tokens")),
        token_types=tuple(need("tokenizer.ggml.token_type")),
        merges=tuple(need("tokenizer.ggml.merges")),
        eos_id=int(need("tokenizer.ggml.eos_token_id")),
        bos_id=int(fields.get("tokenizer.ggml.bos_token_id", -1)),
        chat_template=fields.get("tokenizer.chat_template"),
    )


class _Reader:
    """A cursor over the header."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._data = file.read(_MAX_HEADER_BYTES)
        self._offset = 0

    def read(self) -> dict[str, Any]:
        if self._data[:4] != b"GGUF":
            raise ValueError("wrong magic")
        self._offset = 4
        version = self._scalar("<I")
        if version not in (2, 3):
            raise ValueError(f"GGUF version {version} is not supported")
        self._scalar("<Q")  # number of tensors
        return {self._string(): self._value(self._scalar("<I")) for _ in range(self._count())}

    def _scalar(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self._data, self._offset)
        self._offset += struct.calcsize(form)
        return value

    def _count(self) -> int:
        count = int(self._scalar("<Q"))
        if count > _MAX_ITEMS:
            raise ValueError(f"a list claims {count} items")
        return count

    def _string(self) -> str:
        length = self._scalar("<Q")
        if length > len(self._data) - self._offset:
            raise ValueError(f"a string claims {length} bytes")
        start, self._offset = self._offset, self._offset + length
        return self._data[start : self._offset].decode("utf-8")

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            read = self._reader_of(self._scalar("<I"))
            return [read() for _ in range(self._count())]
        return self._reader_of(kind)()

    def _reader_of(self, kind: int) -> Callable[[], Any]:
        if kind == _STRING:
            return self._string
        if kind not in _SCALARS:
            raise ValueError(f"value type {kind} is not supported")
        return lambda: self._scalar(_SCALARS[kind])
