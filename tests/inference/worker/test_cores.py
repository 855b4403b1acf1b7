"""The engine's threads on machines of every kind, of which the tests have one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inference.worker.cores import Cores, default_threads, read_cores, read_fast_cores


@pytest.mark.parametrize(
    ("cores", "num_threads"),
    [
        pytest.param(Cores(present=8, allowed=8), 7, id="Linux"),
        pytest.param(Cores(present=64, allowed=2), 1, id="Linux, held to two cores"),
        pytest.param(Cores(present=4, allowed=4), 3, id="Linux on ARM"),
        pytest.param(Cores(present=1, allowed=1), 1, id="one core"),
        pytest.param(Cores(present=8, fast=4), 4, id="M1: four fast cores, four slow ones"),
        pytest.param(Cores(present=14, fast=10), 10, id="M4 Pro"),
        pytest.param(Cores(present=8, fast=8), 7, id="Apple silicon in a virtual machine, with one kind"),
        pytest.param(Cores(present=8, fast=None), 7, id="macOS on Intel"),
        pytest.param(Cores(present=None), 1, id="a system that tells nothing"),
    ],
)
def test_a_core_is_left_to_the_rest_and_no_thread_gets_a_slow_one(cores: Cores, num_threads: int) -> None:
    assert default_threads(cores) == num_threads


def test_this_machine_tells_its_cores() -> None:
    assert 1 <= default_threads(read_cores()) <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("script", "num_fast"),
    [
        ('[ "$*" = "-n hw.perflevel0.logicalcpu" ] && echo 4', 4),
        ("echo \"sysctl: unknown oid 'hw.perflevel0.logicalcpu'\" >&2; exit 1", None),
        ("echo several", None),
    ],
)
def test_macos_is_asked_by_its_own_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, num_fast: int | None
) -> None:
    program = tmp_path / "sysctl"
    program.write_text(f"#!/bin/sh\n{script}\n", "ascii")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_fast_cores() == num_fast


def test_without_that_program_no_core_is_known_to_be_fast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_fast_cores() is None


def test_a_system_without_affinity_is_asked_for_its_fast_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_cores() == Cores(os.cpu_count())
