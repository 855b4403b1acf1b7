"""Clients that wait hold none of the site's threads: far more of them wait than there are threads."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Event, Lock, Thread
from typing import Any

import pytest

from tests.faults.conftest import until
from tests.webapp.lifecycle.stream.conftest import Site
from webapp.ground.gateway.handler import NUM_THREADS

pytestmark = pytest.mark.slow

NUM_CLIENTS = 40
assert NUM_CLIENTS > 2 * NUM_THREADS


class FarAway(ThreadingTCPServer):
    """A web server that takes requests, and keeps its answers to itself until it is told to send them.

    Meanwhile it sends a header now and then, so that no client takes it for dead.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Held)
        self.may_answer = Event()
        self.num_held = 0
        self.lock = Lock()

    def count(self, change: int) -> None:
        with self.lock:
            self.num_held += change


class _Held(StreamRequestHandler):
    server: FarAway

    def handle(self) -> None:
        self._read()
        self.server.count(1)
        with suppress(OSError):
            self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n")
            while not self.server.may_answer.wait(0.5):
                self.wfile.write(b"x: y\r\n")
            self.server.count(-1)
            self.wfile.write(b"Content-Length: 0\r\n\r\n")

    def _read(self) -> None:
        length = 0
        while line := self.rfile.readline().strip():
            name, _, text = line.partition(b":")
            length = int(text) if name.lower() == b"content-length" else length
        self.rfile.read(length)


@pytest.fixture(scope="module")
def far_away() -> Iterator[FarAway]:
    with FarAway() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.may_answer.set()
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def site(redis_url: str, far_away: FarAway, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    port = far_away.server_address[1]
    settings = {
        "SIGHTGLASS_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
        "SIGHTGLASS_WEBHOOK_HOSTS": "localhost",
    }
    running = Site(tmp_path_factory.mktemp("site"), redis_url, **settings)
    running.sign_in()
    yield running
    running.close()


def saved_request(site: Site) -> str:
    request_id = site.request()
    site.end(request_id)
    site.settle(request_id)
    return request_id


def test_forty_clients_wait_for_a_server_far_away_and_another_is_answered(site: Site, far_away: FarAway) -> None:
    path = f"/api/requests/{saved_request(site)}/otlp"
    with ThreadPoolExecutor(NUM_CLIENTS) as clients, ExitStack() as stack:
        stack.callback(far_away.may_answer.set)
        waiting = [clients.submit(site.client.post, path) for _ in range(NUM_CLIENTS)]
        until(lambda: far_away.num_held == NUM_CLIENTS, 120)
        for ordinary in ("/api/conversations", "/readyz", "/api/session"):
            assert site.client.get(ordinary).status_code in (200, 503)
        assert far_away.num_held == NUM_CLIENTS, "the ordinary answers came while all clients waited"
        far_away.may_answer.set()
        answers: list[Any] = [each.result() for each in waiting]
    assert {each.status_code for each in answers} == {200}, answers[0].text
