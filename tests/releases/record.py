"""Records the data folder of a release: `python -m tests.releases.record 0.2.0`.

Starts the product on an empty folder, writes one of everything over HTTP, and keeps the database, the secret key and
what the product said of its content as one file. To be run once at each release, on its last commit.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path

import tests.environment  # noqa: F401 (before Django reads the environment)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
os.environ.setdefault("SIGHTGLASS_LOG_LEVEL", "WARNING")

import httpx

from tests.browser.running import Running
from tests.ports import free_port
from tests.releases import content
from tests.releases.said import said
from tests.sign_in import sign_in_by_link
from webapp.operations.demo.renaming import renamed
from webapp.traces.file.archive import decode, encode

RELEASES = Path(__file__).parent
_PATIENCE_S = 240
_DATABASE = "sightglass.sqlite3"
_KEPT = (_DATABASE, "secret_key", "said.json")


def main(version: str) -> None:
    with tempfile.TemporaryDirectory(prefix="sightglass-") as name:
        folder = Path(name)
        _write(folder)
        _name_no_machine(folder / _DATABASE)
        (RELEASES / version).mkdir(exist_ok=True)
        with tarfile.open(RELEASES / version / "data.tar.xz", "w:xz", preset=9) as archive:
            for each in _KEPT:
                archive.add(folder / each, each, filter=_of_no_owner)


def _write(folder: Path) -> None:
    product = Running(folder, free_port(), SIGHTGLASS_WEBHOOK_HOSTS=content.WEBHOOK_HOST)
    try:
        product.manage("shell", "--verbosity", "0", "--command", content.PEOPLE)
        address = product.link.partition("/signin/")[0]
        with httpx.Client(base_url=address, timeout=_PATIENCE_S) as client:
            sign_in_by_link(client, product.link)
            written = content.write(content.Author(client))
            facts = written | {"said": said(client)}
    finally:
        product.end()
    (folder / "said.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False), "utf-8")


def _name_no_machine(path: Path) -> None:
    """Replace what names the machine, and let the file hold no free pages."""
    with closing(sqlite3.connect(path)) as database:
        with database:
            for request_id, blob in database.execute("SELECT request_id, blob FROM traces_trace").fetchall():
                database.execute("UPDATE traces_trace SET blob = ? WHERE request_id = ?", (_renamed(blob), request_id))
            database.execute("UPDATE registry_registeredmodel SET path = '/models/' || id || '.gguf'")
            database.execute("UPDATE usage_usagerecord SET worker = 'worker' WHERE worker != ''")
        database.execute("VACUUM")
        database.execute("PRAGMA journal_mode = DELETE")


def _renamed(blob: bytes) -> bytes:
    archive = decode(blob)
    names = {each.worker: "worker" for frame in archive.frames for each in frame.events if hasattr(each, "worker")}
    return encode(renamed(archive.frames, names), archive.summary)


def _of_no_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    main(sys.argv[1])
