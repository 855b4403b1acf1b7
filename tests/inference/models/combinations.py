"""How much the tests of decoders and kernels take: everything once their sources changed, else a part.

`make kernels` tests everything and notes the digest of these sources. Knows nothing of what a test computes.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TypeVar

A, B, C = TypeVar("A"), TypeVar("B"), TypeVar("C")
ROOT = Path(__file__).parents[3]
_TESTED = Path(__file__).with_name("tested_sources.sha256")
_SOURCES = ("inference/kernels", "inference/models")
_LIBRARIES = re.compile(r"(?:torch|transformers|ziglang|numpy|gguf|safetensors)\b")
"""What computes beside these sources, and what they are compared with."""
_WHOLE = "SIGHTGLASS_TEST_WHOLE_KERNELS"


def is_whole() -> bool:
    """True: the tests take everything, because they are asked to or because none did since the sources changed."""
    return bool(os.environ.get(_WHOLE)) or _TESTED.read_text("ascii").strip() != digest()


def digest() -> str:
    """Return the digest of the sources and libraries that decide what the kernels compute."""
    found = hashlib.sha256()
    for path in sorted(path for folder in _SOURCES for path in (ROOT / folder).rglob("*")):
        if path.suffix in (".c", ".h", ".py"):
            found.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    for requirements in sorted(ROOT.glob("requirements*.txt")):
        lines = requirements.read_text("utf-8").splitlines()
        found.update("\n".join(filter(_LIBRARIES.match, lines)).encode())
    return found.hexdigest()


def combined(first: Sequence[A], second: Sequence[B], third: Sequence[C]) -> list[tuple[A, B, C]]:
    """Return every combination, or so many that each two values of different kinds meet.

    first: the kind with the most values.
    """
    return list(product(first, second, third)) if is_whole() else pairs(first, second, third)


def pairs(first: Sequence[A], second: Sequence[B], third: Sequence[C]) -> list[tuple[A, B, C]]:
    """Shift the third kind against the second with each value of the first, as a Latin square does."""
    shifts = range(max(len(second), len(third)))
    return [
        (value, second[shift % len(second)], third[(row + shift) % len(third)])
        for row, value in enumerate(first)
        for shift in shifts
    ]


def main() -> int:
    folders = ["tests/inference/kernels", "tests/inference/models"]
    command = [sys.executable, "-m", "pytest", *folders]
    ended = subprocess.run(command, cwd=ROOT, env=os.environ | {_WHOLE: "1"}, check=False)
    if ended.returncode == 0:
        _TESTED.write_text(digest() + "\n", "ascii")
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
