"""What stops the set-up or the first start, met for real: an old Python, a disk that is small, full or read-only."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.bootstrap import refusal

ROOT = Path(__file__).parents[2]
BOOTSTRAP = ROOT / "scripts" / "bootstrap.py"
_OLD = "import runpy, sys; sys.version_info = (3, 10, 13, 'final', 0); runpy.run_path(sys.argv[1], run_name='__main__')"
_ON_A_SMALL_DISK = 'mount -t tmpfs -o size=1m tmpfs "$0" && {}'


def on_a_small_disk(place: Path, script: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a shell script while `place` is a disk of 1 MB, which no other process sees; $0 is the place."""
    apart = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    probe = [*apart, _ON_A_SMALL_DISK.format("true"), place]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("no process may mount a file system here")
    command = [*apart, _ON_A_SMALL_DISK.format(script), place, *arguments]
    return subprocess.run(command, cwd=ROOT, env=own(place), capture_output=True, text=True, check=False)


def own(data: Path) -> dict[str, str]:
    return os.environ | {"SIGHTGLASS_DATA": str(data / "data")}


def test_an_old_python_is_refused_with_the_way_out() -> None:
    run = subprocess.run([sys.executable, "-c", _OLD, BOOTSTRAP], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.startswith("Sightglass needs Python 3.11 or newer")
    assert "PYTHON=python3.11 make up" in run.stderr
    assert run.stderr.count("\n") == 1


def test_an_old_python_can_read_the_script_that_refuses_it() -> None:
    tree = ast.parse(BOOTSTRAP.read_text("utf-8"), feature_version=(3, 7))
    assert not any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in ast.walk(tree))


@pytest.mark.parametrize(
    ("system", "machine", "mac_version", "reason"),
    [
        ("Linux", "x86_64", "", None),
        ("Linux", "aarch64", "", None),
        ("Darwin", "arm64", "14.0", None),
        ("Darwin", "arm64", "26.1", None),
        ("Darwin", "arm64", "13.6.1", "needs macOS 14"),
        ("Darwin", "x86_64", "15.2", "Python that is made for it"),
        ("Windows", "AMD64", "", "WSL"),
        ("Linux", "riscv64", "", "riscv64"),
    ],
)
def test_a_system_that_cannot_run_it_is_told_so_in_one_line(
    system: str, machine: str, mac_version: str, reason: str | None
) -> None:
    told = refusal(system, machine, mac_version)
    assert told is None if reason is None else told is not None and reason in told and "\n" not in told


def test_too_small_a_disk_is_named_before_anything_is_installed(tmp_path: Path) -> None:
    script = 'mkdir "$0/scripts" && cp "$2" "$0/scripts" && "$1" "$0/scripts/bootstrap.py"'
    run = on_a_small_disk(tmp_path, script, sys.executable, BOOTSTRAP)
    assert run.returncode == 1
    assert run.stderr == "Sightglass needs 3 GB of free disk here; there are 0.0 GB.\n"


def test_a_disk_with_little_room_is_named_at_the_start(tmp_path: Path) -> None:
    run = on_a_small_disk(tmp_path, '"$1" manage.py up', sys.executable)
    assert run.returncode == 1
    assert "has only 0 MB left" in run.stderr
    assert run.stderr.count("\n") == 1


def test_a_full_disk_at_the_first_start_leaves_no_empty_secret(tmp_path: Path) -> None:
    fill = '(mkdir "$0/data"; dd if=/dev/zero of="$0/fill" bs=4k status=none; '
    script = fill + '"$1" manage.py up; status=$?; ls -A "$0/data"; exit $status)'
    run = on_a_small_disk(tmp_path, script, sys.executable)
    assert (run.returncode, run.stdout) == (1, "")
    assert "No space left on device" in run.stderr.splitlines()[-1]
    assert run.stderr.splitlines()[-1].startswith("sightglass: ")


@pytest.mark.parametrize("makes_data", ["", 'mkdir "$0/data" && '], ids=["not there", "there"])
def test_a_data_folder_that_may_only_be_read_is_named_with_the_way_out(makes_data: str, tmp_path: Path) -> None:
    run = on_a_small_disk(tmp_path, makes_data + 'mount -o remount,ro "$0" && "$1" manage.py up', sys.executable)
    assert run.returncode == 1
    assert run.stderr.startswith(f"sightglass: the data folder {tmp_path / 'data'} cannot be used (")
    assert run.stderr.endswith("; set SIGHTGLASS_DATA to another.\n")
    assert run.stderr.count("\n") == 1


def test_one_python_of_each_promised_release_is_found(tmp_path: Path) -> None:
    """Whatever stands on the path: older ones, files that are no Python, and one release twice."""
    releases = {"a/python3": "[3, 10, 1]", "b/python3": "[3, 12, 901]", "c/python3": "", "d/python3.12": "[3, 12, 901]"}
    releases |= {"pyenv/versions/3.13.907/bin/python3": "[3, 13, 907]", "e/python3": "[3, 14, 0]"}
    for name, release in releases.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        file.write_text(f"#!/bin/sh\ntest '{release}' && echo '{release}'\n")
        file.chmod(0o755)
    folders = [str(tmp_path / name) for name in "abcde"]
    env = os.environ | {"PATH": os.pathsep.join(folders), "PYENV_ROOT": str(tmp_path / "pyenv")}
    code = "from scripts import pythons; print(*(file for file in pythons.pythons(pythons.candidates()).values()))"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    own = [each for each in found.stdout.split() if each.startswith(str(tmp_path))]
    assert own == [str(tmp_path / "b/python3"), str(tmp_path / "pyenv/versions/3.13.907/bin/python3")]
