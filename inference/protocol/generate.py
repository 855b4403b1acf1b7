"""Writes the TypeScript of the protocol: `python -m inference.protocol.generate [--check]`.

With --check nothing is written and the exit status is 1 when a committed file is stale.
"""

from __future__ import annotations

import sys
from pathlib import Path

from inference.protocol.typescript import build_typescript

_ROOT = Path(__file__).resolve().parents[2]
TYPESCRIPT_PATH = _ROOT / "frontend" / "src" / "protocol" / "events.ts"


def build_files() -> dict[Path, str]:
    """Return the text that each generated file should hold."""
    return {TYPESCRIPT_PATH: build_typescript()}


def stale_files() -> list[Path]:
    """Return the generated files that do not match the protocol."""
    return [path for path, text in build_files().items() if not path.is_file() or path.read_text("utf-8") != text]


def main() -> int:
    if "--check" in sys.argv[1:]:
        stale = stale_files()
        for path in stale:
            print(f"{path.relative_to(_ROOT)} is stale: run python -m inference.protocol.generate")
        return 1 if stale else 0
    for path, text in build_files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
