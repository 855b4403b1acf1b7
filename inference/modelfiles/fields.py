"""Typed look-ups in a model file's metadata. Knows nothing of which model it describes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inference.modelfiles.errors import damaged, unsupported


class Fields:
    """Metadata by name; every method raises ModelFileError for what is missing or of the wrong type."""

    def __init__(self, path: Path, values: Mapping[str, Any], prefix: str = "") -> None:
        """prefix: prepended to every requested name, as GGUF does with the architecture."""
        self.path = path
        self._values = values
        self._prefix = prefix

    def get(self, name: str) -> Any:
        """Return the value unchecked; None if there is none."""
        return self._values.get(self._prefix + name)

    def text(self, name: str) -> str:
        value = self._need(name, None)
        if not isinstance(value, str):
            raise damaged(self.path, f"{self._prefix}{name} is {value!r}; it must be text")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        value = self._need(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise damaged(self.path, f"{self._prefix}{name} is {value!r}; it must be a number")
        return float(value)

    def count(self, name: str, default: int | None = None) -> int:
        value = self.number(name, default)
        if not value.is_integer():
            raise damaged(self.path, f"{self._prefix}{name} is {value}; it must be a whole number")
        return int(value)

    def optional(self, name: str) -> float | None:
        """Return a number; None if it is missing."""
        return None if self.get(name) is None else self.number(name)

    def expect(self, name: str, plain: object) -> None:
        """Refuse a value other than `plain`, which would change the mathematics."""
        value = self.get(name)
        if value is not None and value != plain:
            raise unsupported(self.path, f"{name} = {value}")

    def _need(self, name: str, default: object) -> Any:
        value = self.get(name)
        if value is None and default is None:
            raise damaged(self.path, f"the metadata has no {self._prefix}{name}")
        return default if value is None else value
