"""Writes the API's TypeScript and tables: `python -m webapp.api.docs.generate [--check]`.

With --check nothing is written and the exit status is 1 when a committed file is stale.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import django

ROOT = Path(__file__).resolve().parents[3]


def build_files() -> dict[Path, str]:
    """Return the text that each generated file should hold. Django must be set up."""
    from webapp.api.docs.table import PAGE, build_page  # needs Django
    from webapp.api.docs.typescript import build_typescript

    return {
        ROOT / "frontend" / "src" / "protocol" / "api.ts": build_typescript(),
        PAGE: build_page(),
    }


def stale_files() -> list[Path]:
    """Return the generated files that do not match the operations."""
    return [path for path, text in build_files().items() if not path.is_file() or path.read_text("utf-8") != text]


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup(set_prefix=False)
    if "--check" in sys.argv[1:]:
        stale = stale_files()
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale: run python -m webapp.api.docs.generate")
        return 1 if stale else 0
    for path, text in build_files().items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
