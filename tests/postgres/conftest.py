"""The product on either database, and a real PostgreSQL server for as long as these tests run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.conftest import PATIENT, Processes
from tests.postgres_servers import new_database, postgres_server


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Of the server's own database."""
    with postgres_server() as server:
        yield server.url


@pytest.fixture(scope="session", params=["SQLite", "PostgreSQL"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """The product on either database, for all files here. The first files run without an inference worker."""
    own = {}
    if request.param == "PostgreSQL":
        own["SIGHTGLASS_DATABASE_URL"] = new_database(request.getfixturevalue("postgres_url"), "product")
    processes = Processes(tmp_path_factory.mktemp("data"), **PATIENT, **own)
    yield processes
    processes.close()
