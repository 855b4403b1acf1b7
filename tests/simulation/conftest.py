"""One bench for the simulations of a test process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import pytest_django

from tests.simulation.database import Database
from tests.simulation.simulation import Bench


@pytest.fixture(scope="module")
def bench(
    django_db_blocker: pytest_django.DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with django_db_blocker.unblock():
        bench = Bench(Database(tmp_path_factory.mktemp("simulation") / "simulation.sqlite3"))
        yield bench
        bench.close()
