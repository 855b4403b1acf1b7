"""Runs every check; with --all every test too. Keeps going after a failure and ends with an exit status for all."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from bootstrap import FRONTEND, PYTHON, ROOT, node_environment

LINT: dict[str, list[str | Path]] = {
    "ruff check": [PYTHON, "-m", "ruff", "check", "."],
    "ruff format": [PYTHON, "-m", "ruff", "format", "--check", "."],
    "mypy": [PYTHON, "-m", "mypy"],
}
PAGE: dict[str, list[str]] = {
    "svelte-check": ["npm", "run", "check", "--silent"],
    "eslint, prettier": ["npm", "run", "lint", "--silent"],
}


def main() -> int:
    environment = node_environment()
    failed = [name for name, command in LINT.items() if not run(name, command, ROOT, environment)]
    failed += [name for name, command in PAGE.items() if not run(name, command, FRONTEND, environment)]
    if "--all" in sys.argv[1:]:
        if not run("vitest", ["npm", "run", "test", "--silent"], FRONTEND, environment):
            failed.append("vitest")
        if not run("pytest", [PYTHON, "-m", "pytest"], ROOT, environment):
            failed.append("pytest")
    if failed:
        print(f"sightglass: failed: {', '.join(failed)}", flush=True)
    return 1 if failed else 0


def run(name: str, command: list[str] | list[str | Path], folder: Path, environment: dict[str, str]) -> bool:
    print(f"sightglass: {name} …", flush=True)
    start = time.monotonic()
    status = subprocess.run(command, cwd=folder, env=environment, check=False).returncode
    print(f"sightglass: {name} {'passed' if status == 0 else 'FAILED'} in {time.monotonic() - start:.0f} s", flush=True)
    return status == 0


if __name__ == "__main__":
    sys.exit(main())
