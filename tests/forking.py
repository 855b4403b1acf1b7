"""A process with the kept libraries imported, whose forks run Python programs: `python -m tests.forking SOCKET`.

An import of those libraries takes most of a program's start. None of them reads a setting. The site's own modules do:
`python -m tests.forking SOCKET site` runs as such a fork, imports them too, and forks the programs of its environment.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil

_LIBRARIES = (
    "asyncio", "autobahn.rawsocket.util", "autobahn.websocket.protocol", "celery.bin.celery",
    "celery.concurrency.thread", "celery.worker", "channels.consumer", "concurrent.futures.thread",
    "django.contrib.sessions.backends.base", "django.contrib.staticfiles.finders", "django.core.handlers.asgi",
    "django.core.management", "django.db.backends.sqlite3.base", "django.db.models", "django.forms", "django.template",
    "django.test.utils", "django.urls", "django.views.generic", "google.protobuf.json_format", "httpx",
    "inference.protocol.preparing", "inference.safety.guard", "inference.tokenization.chat_template",
    "inference.worker.host", "jinja2", "kombu.transport.redis", "lxml.etree", "msgspec", "numpy",
    "opentelemetry.proto.collector.trace.v1.trace_service_pb2", "prometheus_client", "redis.asyncio", "simpleeval",
    "smtplib", "twisted.internet.posixbase", "twisted.protocols.tls", "twisted.web.http", "ua_parser.basic",
    "whitenoise.base",
)  # fmt: skip
_STARTS_A_THREAD = "onnxruntime"
"""A fork would lack the thread, and wait for it at its end. So each fork imports the library at its first use."""
_HOLDS_A_LOOP = "twisted.internet.reactor"
"""A fork of an imported one would share its file of events with its siblings."""


class Forking:
    """Takes one program a connection, and tells its process id at once and its status at its end."""

    def __init__(self, path: str) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{path}.new")
        self._listener.listen()
        Path(f"{path}.new").rename(path)  # a client that finds it is listened to
        self._connections: dict[int, socket.socket] = {}
        self._ended, wakes = socket.socketpair()
        for end in (self._ended, wakes, self._listener):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes.fileno())
        self._wakes = wakes

    def next_program(self) -> dict[str, Any]:
        """Serve until this process is a fork; return what it is to run."""
        while True:
            readable, _, _ = select.select([self._listener, self._ended], [], [])
            if self._ended in readable:
                self._tell_ends()
            if self._listener in readable and (program := self._fork()):
                return program

    def _fork(self) -> dict[str, Any] | None:
        connection, _ = self._listener.accept()
        connection.setblocking(True)
        _, files, _, _ = socket.recv_fds(connection, 1, 3)
        with connection.makefile() as lines:
            program: dict[str, Any] = json.loads(lines.readline())
        pid = os.fork()
        if pid:
            self._connections[pid] = connection
            for file in files:
                os.close(file)
            connection.sendall(b"%15d\n" % pid)
            return None
        self._leave(connection)
        _become(program, files)
        return program

    def _leave(self, connection: socket.socket) -> None:
        """In a fork: keep nothing of this object's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for end in (connection, self._listener, self._ended, self._wakes, *self._connections.values()):
            end.close()

    def _tell_ends(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._ended.recv(1 << 16)
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                with contextlib.suppress(OSError), self._connections.pop(pid) as connection:
                    connection.sendall(b"%15d\n" % os.waitstatus_to_exitcode(status))


def _become(program: dict[str, Any], files: Sequence[int]) -> None:
    if program["process_group"] is not None:
        os.setpgid(0, program["process_group"])
    os.chdir(program["folder"])
    os.environ.clear()
    os.environ.update(program["environment"])
    for place, file in enumerate(files):
        os.dup2(file, place)
        os.close(file)


def _run(arguments: Sequence[str]) -> None:
    """Run what stands behind the interpreter's name in a command."""
    kind, *rest = arguments
    if kind == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(arguments)
        runpy.run_path(kind, run_name="__main__")


def _import_at_first_use(name: str) -> None:
    """Put a module in its place. Other libraries look through all modules, which is no use."""

    def member(word: str) -> Any:
        if word.startswith("__"):
            raise AttributeError(word)
        if sys.modules[name] is stand_in:
            del sys.modules[name]
        return getattr(importlib.import_module(name), word)

    stand_in = ModuleType(name)
    stand_in.__getattr__ = member  # type: ignore[method-assign]
    sys.modules[name] = stand_in


def main() -> None:
    _import_at_first_use(_STARTS_A_THREAD)
    for name in _LIBRARIES:
        importlib.import_module(name)
    path, *more = sys.argv[1:]
    if more:
        _import_site()
    assert _HOLDS_A_LOOP not in sys.modules and psutil.Process().num_threads() == 1
    gc.collect()
    gc.freeze()
    program = Forking(path).next_program()
    _run(program["arguments"])


def _import_site() -> None:
    importlib.import_module("webapp.asgi")
    importlib.import_module("webapp.celery").app.loader.import_default_modules()
    from django.db import connections

    assert all(each.connection is None for each in connections.all())


if __name__ == "__main__":
    main()
