"""Checks before anything is started; each problem is one line with advice."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from webapp.environment import ROOT

_MIN_FREE_BYTES = 200 << 20


class CannotStart(Exception):
    """The product cannot start; the message is for the operator."""


def check_worker_settings() -> None:
    """Check the settings that only the workers read, in a process that reads them as they do. Raises CannotStart."""
    command = [sys.executable, "-m", "inference.worker.settings"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if run.returncode:
        raise CannotStart(run.stderr.strip().splitlines()[-1].removeprefix("sightglass: "))


def check_port(host: str, port: int) -> None:
    """Check that the port is valid and free. Raises CannotStart."""
    if not 0 < port < 65536:
        raise CannotStart(f"PORT is {port}; use a number from 1 to 65535.")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CannotStart(
                f"Port {port} on {host} cannot be used ({error.strerror}). Try: PORT={port + 1} make up"
            ) from None


def check_disk(data: Path) -> None:
    """Check the free space of the data folder's disk. Raises CannotStart."""
    free = shutil.disk_usage(data).free
    if free < _MIN_FREE_BYTES:
        raise CannotStart(
            f"The disk of {data} has only {free >> 20} MB left; free some, or set SIGHTGLASS_DATA elsewhere."
        )


def lock(data: Path, address: str) -> int:
    """Lock the data folder for this process, and write its address into the lock. The lock ends with the process.

    Raises CannotStart.
    """
    descriptor = os.open(data / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise CannotStart(f"Sightglass is running with {data} already; stop it, or set SIGHTGLASS_DATA.") from None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, address.encode())
    return descriptor


def running_address(data: Path) -> str | None:
    """Address of the product that holds the data folder; None: none does, or its address is unknown."""
    try:
        with (data / "lock").open(encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read() or None
    except FileNotFoundError:
        pass
    return None
