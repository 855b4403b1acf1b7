"""The composed services when the network to Redis goes silent, and when Sentinels choose another server."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.docker.composition import Composition
from tests.docker.test_compose import Page
from tests.faults.conftest import until
from tests.preloaded import PreloadedChild
from tests.redis_servers import PASSWORD, QUOTED, Network, Sentinels, network
from tests.webapp.surfaces.learn.test_learn import QUESTION

MOST_S = 30
NUM_THREADS = 16
"""Threads of a web process."""


def composed(folder: Path, postgres_url: str, name: str) -> Composition:
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    return Composition(folder, postgres_url, name, PreloadedChild)


@pytest.fixture
def between(postgres_url: str, tmp_path: Path) -> Iterator[tuple[Composition, Network]]:
    running = composed(tmp_path, postgres_url, "cut")
    port = running.start_redis()
    with network(port) as wires:
        running.redis_url = running.redis_url.replace(f":{port}", f":{wires.port}")
        running.start_all()
        yield running, wires
        wires.mend()
    running.stop()


def asked_at_once(running: Composition, num: int) -> list[float]:
    """Send so many messages and questions at once; the seconds until each was answered, with whatever status."""
    conversation = running.client.post("/api/conversations", json={}).json()["id"]
    taken: list[float] = []

    def ask(number: int) -> None:
        start = time.monotonic()
        path = f"/api/conversations/{conversation}/messages" if number % 2 else "/api/learn/simulations"
        running.post(path, {"text": "Hello."} if number % 2 else QUESTION | {"seed": number})
        taken.append(time.monotonic() - start)

    threads = [threading.Thread(target=ask, args=[number]) for number in range(num)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken


def test_every_thread_is_free_soon_after_the_network_goes_silent(between: tuple[Composition, Network]) -> None:
    running, wires = between
    page = Page(running, running.send("Write a very long story.", max_tokens=2000, seed=7))
    page.follow(20)
    wires.cut()
    taken = asked_at_once(running, NUM_THREADS)
    assert len(taken) == NUM_THREADS and max(taken) < MOST_S, sorted(taken)
    assert running.get("/healthz") == 200
    wires.mend()
    # Web, lifecycle, inference and probes work on, with connections of their own making.
    until(lambda: running.num_ready() == 2, MOST_S)
    until(lambda: running.get("/readyz") == 200, MOST_S)
    until(lambda: running.post("/api/learn/checks", {"text": "Hello"}) == 200, MOST_S)
    until(lambda: running.post("/api/learn/simulations", QUESTION) == 200, MOST_S)
    after = Page(running, running.send("Say hello.", max_tokens=5))
    after.follow(10_000)
    assert after.events[-1]["type"] == "request.finished"
    while not page.is_over:
        page.follow(10_000)
    assert page.events[-1]["type"] == "request.finished"
    positions = [event["position"] for event in page.events if event["type"] == "token.sampled"]
    assert positions == list(range(len(positions)))


@pytest.fixture
def watched(postgres_url: str, tmp_path: Path) -> Iterator[tuple[Composition, Sentinels]]:
    running, servers = composed(tmp_path, postgres_url, "watched"), Sentinels(tmp_path)
    running.redis_url = servers.url
    running.start_all()
    yield running, servers
    running.stop()
    servers.close()


def test_an_answer_goes_on_when_sentinels_choose_another_server(watched: tuple[Composition, Sentinels]) -> None:
    running, servers = watched
    page = Page(running, running.send("Write a very long story.", max_tokens=2000, seed=7))
    page.follow(20)
    servers.first.send(signal.SIGKILL)
    while not page.is_over:
        page.follow(10_000)
    assert page.events[-1]["type"] == "request.finished"
    positions = [event["position"] for event in page.events if event["type"] == "token.sampled"]
    assert positions == list(range(len(positions)))
    until(lambda: running.num_ready() == 2, MOST_S)
    again = Page(running, running.send("Say hello.", max_tokens=5))
    again.follow(10_000)
    assert again.events[-1]["type"] == "request.finished"
    until(lambda: running.post("/api/learn/simulations", QUESTION) == 200, MOST_S)
    for child in running.children.values():
        log = child.log_path.read_text("utf-8")
        assert QUOTED not in log and PASSWORD not in log, child.log_path
