"""One product, started as by a user, for the tests that leave it whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.running import Running
from tests.environment import share_database
from tests.ports import free_port


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Its database lay there before, for everybody to read."""
    data: Path = tmp_path_factory.mktemp("data")
    share_database(data)
    (data / "sightglass.sqlite3").chmod(0o644)
    running = Running(data, free_port(), SIGHTGLASS_THREADS="1")
    yield running
    running.end()
