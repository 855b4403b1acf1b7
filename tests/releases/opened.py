"""The data folder of a release as this code opens it: a copy, brought up to date and served by a running product."""

from __future__ import annotations

import json
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import httpx

from tests.browser.running import Running
from tests.ports import free_port
from tests.releases.said import said
from tests.sign_in import sign_in_by_link

_PATIENCE_S = 240
_IN_TIME = "UPDATE traces_share SET expires_at = datetime('now', '+1 day')"
"""Links end after a year at most. A release's are to open for longer."""


class Opened:
    """A started product on the folder, with a signed-in operator."""

    def __init__(self, release: Path, folder: Path) -> None:
        with tarfile.open(release / "data.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        self._database = folder / "sightglass.sqlite3"
        with closing(sqlite3.connect(self._database)) as database, database:
            database.execute(_IN_TIME)
        self.recorded = json.loads((folder / "said.json").read_text("utf-8"))
        """What the release wrote down: a key, links, the request they show, and all that it said."""
        self._product = Running(folder, free_port())
        self.operator = self.visitor()
        sign_in_by_link(self.operator, self._product.link)
        self.said = said(self.operator)
        """What this code says of the folder before anything is added."""
        self.posted_nano = self._sum("total_nano", "billing_ledgerentry")
        self.used_nano = self._sum("cost_nano", "usage_usagerecord")

    def visitor(self, **headers: str) -> httpx.Client:
        address = self._product.link.partition("/signin/")[0]
        return httpx.Client(base_url=address, timeout=_PATIENCE_S, headers=headers)

    def _sum(self, column: str, table: str) -> int:
        with closing(sqlite3.connect(self._database)) as database:
            return int(database.execute(f"SELECT SUM({column}) FROM {table}").fetchone()[0])

    def end(self) -> None:
        self._product.end()
