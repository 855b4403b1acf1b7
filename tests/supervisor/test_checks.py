"""What is wrong is said in one line that names the way out, before anything is started."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from webapp.operations.supervisor.checks import CannotStart, check_disk, check_port, lock, running_address

ROOT = Path(__file__).parents[2]


def test_a_taken_port_is_named_with_another_to_try() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotStart, match=rf"Port {port} .* PORT={port + 1} make up"):
            check_port("127.0.0.1", port)
    check_port("127.0.0.1", port)


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_port_that_cannot_be_is_refused(port: int) -> None:
    with pytest.raises(CannotStart, match="1 to 65535"):
        check_port("127.0.0.1", port)


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100 << 30, 100 << 30, 3 << 20))
    with pytest.raises(CannotStart, match="only 3 MB left"):
        check_disk(tmp_path)


def test_a_data_folder_serves_one_product_at_a_time(tmp_path: Path) -> None:
    assert running_address(tmp_path) is None
    held = lock(tmp_path, "http://127.0.0.1:8123")
    assert running_address(tmp_path) == "http://127.0.0.1:8123"
    with pytest.raises(CannotStart, match=r"running with .* already"):
        lock(tmp_path, "http://127.0.0.1:8124")
    assert running_address(tmp_path) == "http://127.0.0.1:8123"
    os.close(held)
    assert running_address(tmp_path) is None  # the file is still there, also after a kill
    os.close(lock(tmp_path, ""))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "abc"),
        ("PORT", "1.5"),
        ("SIGHTGLASS_STALL_TIMEOUT_S", "-1"),
        ("SIGHTGLASS_DATA", "/dev/null"),
        ("SIGHTGLASS_DATABASE_URL", "mysql://127.0.0.1/sightglass"),
        ("SIGHTGLASS_DATABASE_URL", "postgres://127.0.0.1:port/sightglass"),
        ("SIGHTGLASS_DATABASE_URL", "postgres://127.0.0.1:1/sightglass"),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_line(name: str, value: str, tmp_path: Path) -> None:
    assert name in refusal({"SIGHTGLASS_DATA": str(tmp_path), "PORT": "59999", name: value})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SIGHTGLASS_KERNELS", "sse", "'sse'; use one of auto, avx512, avxvnni, avx2, neon, plain, torch"),
        ("SIGHTGLASS_DEVICE", "gpu", "'gpu'; use one of cpu, cuda, auto"),
        ("SIGHTGLASS_THREADS", "0", "'0'; use a whole number from 1 on"),
    ],
)
def test_a_workers_setting_is_refused_before_anything_is_started(
    name: str, value: str, said: str, tmp_path: Path
) -> None:
    assert (
        refusal({"SIGHTGLASS_DATA": str(tmp_path), "PORT": "59999", name: value}) == f"sightglass: {name} is {said}.\n"
    )
    assert not (tmp_path / "logs").exists()


def test_a_database_file_that_is_none_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "sightglass.sqlite3").write_bytes(b"not a database" * 100)
    assert "Move the file away" in refusal({"SIGHTGLASS_DATA": str(tmp_path), "PORT": "59999"})


def refusal(settings: dict[str, str]) -> str:
    """What `manage.py up` says when it does not start: one line."""
    command = [sys.executable, "manage.py", "up"]
    result = subprocess.run(
        command, cwd=ROOT, env=os.environ | settings, capture_output=True, text=True, check=False, timeout=240
    )
    assert result.returncode == 1
    assert result.stderr.startswith("sightglass: ")
    assert result.stderr.count("\n") == 1
    return result.stderr
