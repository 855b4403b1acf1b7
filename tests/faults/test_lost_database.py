"""PostgreSQL stops at once while a client follows a request: the stream goes on, or ends so that the client returns."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.conftest import PATIENT, Processes, until
from tests.postgres_servers import Server, new_database, postgres_server
from tests.scoreboard.reader import Reading, follow
from webapp.lifecycle.stream.session import CHECK_S

pytestmark = pytest.mark.slow


@pytest.fixture
def stoppable(tmp_path: Path) -> Iterator[tuple[Processes, Server]]:
    with postgres_server() as server:
        url = new_database(server.url, "product")
        running = Processes(tmp_path, **PATIENT, SIGHTGLASS_DATABASE_URL=url)
        yield running, server
        running.close()


def test_a_stream_outlives_a_database_that_stops(stoppable: tuple[Processes, Server]) -> None:
    site, server = stoppable
    reading = Reading(site.send("Hello"))
    following = follow(site.client.base_url, site.client.cookies, reading, 60)
    until(lambda: bool(reading.frames), 60)
    server.stop(signal.SIGQUIT)
    time.sleep(CHECK_S + 1)  # the stream looks up its session meanwhile
    server.start()
    site.cancel(reading.request_id)
    following.join(60)
    assert (reading.is_over, reading.num_silent) == (True, 0)
