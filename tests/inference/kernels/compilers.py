"""C compilers for systems that are not here."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.environment import MADE


def zig(target: str) -> list[str]:
    """Return the command that compiles for the target; skip the test where the compiler is missing."""
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("the compiler for other systems is missing: pip install -r requirements-compiler.txt")
    return [sys.executable, "-m", "ziglang", "cc", "-target", target]


def run_compiler(command: list[str], program: Path) -> Path:
    """Run the command that builds the program. What it needs of another system is built once for all tests."""
    environment = os.environ | {"ZIG_GLOBAL_CACHE_DIR": str(MADE / "zig")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return program
