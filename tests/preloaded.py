"""Children that begin as forks of a process with the kept libraries imported. Knows nothing of their programs.

They are processes like any other: with an id, an environment, a log and a process group of their own.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from tests.environment import DATA
from webapp.operations.supervisor.child import Child

ROOT = Path(__file__).parents[1]
_START_S = 120
_NUMBER_BYTES = 16


class Fork:
    """A running fork, with the members of `subprocess.Popen` that its users need."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        files: Sequence[IO[bytes]],
        process_group: int | None = None,
    ) -> None:
        """arguments: what stands behind the interpreter's name. files: its input, output and messages."""
        program = {"arguments": list(arguments), "environment": dict(environment), "folder": str(ROOT)}
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(_address_for(arguments, environment))
        socket.send_fds(self._connection, [b" "], [file.fileno() for file in files])
        self._connection.sendall(json.dumps(program | {"process_group": process_group}).encode() + b"\n")
        self.pid = self._read_number()
        self.returncode: int | None = None

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                self.returncode = self._read_number()
            except (BlockingIOError, TimeoutError) as error:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0) from error
            self._connection.close()
        return self.returncode

    def _read_number(self) -> int:
        return int(self._connection.recv(_NUMBER_BYTES, socket.MSG_WAITALL))


class PreloadedChild(Child):
    """A child whose program is Python's."""

    def run(self, command: Sequence[str], log: IO[bytes], env: dict[str, str], process_group: int) -> Any:
        if command[0] != sys.executable:
            return super().run(command, log, env, process_group)
        with Path(os.devnull).open("rb") as nothing:
            return _started(command[1:], env, [nothing, log, log], process_group)


def manage(environment: Mapping[str, str], *arguments: str) -> str:
    """Run a command of `manage.py`, and return what it printed."""
    with Path(os.devnull).open("rb") as nothing, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as told:
        status = _started(["manage.py", *arguments], environment, [nothing, output, told]).wait()
        output.seek(0)
        told.seek(0)
        assert status == 0, told.read().decode()
        return output.read().decode()


def _started(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    files: Sequence[IO[bytes]],
    process_group: int | None = None,
) -> Fork | subprocess.Popen[bytes]:
    """Run Python. macOS's own libraries refuse to work in a fork."""
    if sys.platform != "darwin":
        return Fork(arguments, environment, files, process_group)
    given, output, told = files
    command = [sys.executable, *arguments]
    return subprocess.Popen(
        command, stdin=given, stdout=output, stderr=told, env=environment, cwd=ROOT, process_group=process_group
    )


def end_forks_of(environment: Mapping[str, str]) -> None:
    """End the process whose forks are a site's, after the site."""
    if found := _sites.pop(_key(environment), None):
        found.child.send(signal.SIGKILL)
        assert found.child.wait(10)


@dataclass(frozen=True)
class _Forking:
    """A process that forks, and the address where it listens."""

    child: Child
    address: str


_sites = dict[frozenset[tuple[str, str]], _Forking]()
"""Those with the modules of a site too, by the settings that their forks have."""


def _key(environment: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(environment.items())


def _address_for(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """Where the process listens whose forks run this program."""
    is_of_site = list(arguments[:4]) == ["-m", "celery", "-A", "webapp"] or {"manage.py", "webapp.serve"} & {*arguments}
    if not is_of_site:
        return _libraries().address
    key = _key(environment)
    _sites[key] = _sites.get(key) or _start(PreloadedChild, environment, "site")
    return _sites[key].address


@functools.cache
def _libraries() -> _Forking:
    return _start(Child, os.environ | {"PYTHONPATH": str(ROOT)})


def _start(kind: type[Child], environment: Mapping[str, str], *more: str) -> _Forking:
    """Start a process that ends with this one, and return once it listens."""
    address = f"{DATA}/{uuid4().hex}.sock"
    command = [sys.executable, "-m", "tests.forking", address, *more]
    child = kind("forking", command, Path(address).with_suffix(".log"), dict(environment))
    atexit.register(child.send, signal.SIGKILL)
    deadline = time.monotonic() + _START_S
    while not Path(address).exists():
        assert child.exit_status is None and time.monotonic() < deadline, child.log()
        time.sleep(0.01)
    return _Forking(child, address)
