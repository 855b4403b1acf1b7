"""Redis as it is in production: a password, TLS, Sentinels, and a network that goes silent. All servers are real."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
import redis
from celery import Celery
from kombu.exceptions import OperationalError

from inference.eventlog.address import BadAddress, check_address, sentinel_address
from inference.eventlog.async_connections import connect_async
from inference.eventlog.connections import connect
from inference.eventlog.redis_log import RedisEventLog
from inference.protocol.events import TextReleased
from inference.queue.app import make_app
from tests.certificates import make_certificate
from tests.faults.conftest import until
from tests.redis_servers import PASSWORD, QUOTED, Sentinels, network, start_server
from webapp.operations.supervisor.child import Child

MOST_S = 30


class Started(NamedTuple):
    """A server with a password."""

    child: Child
    port: int


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    child, port = start_server(tmp_path_factory.mktemp("server"), "valkey", "--requirepass", PASSWORD, "--save", "")
    yield Started(child, port)
    child.send(signal.SIGKILL)
    assert child.wait(10)


def text(n: int) -> TextReleased:
    return TextReleased(at=n, text=str(n), num_tokens=n)


def app_at(url: str) -> Celery:
    return make_app(Celery, "test", url, "settle", fails_fast=True, is_current=False)


def takes_and_gives(url: str) -> None:
    """Use log, queue and event loop at this address."""
    log, request_id = RedisEventLog.from_url(url), uuid4().hex
    log.append(request_id, [text(1)], 1)
    log.forget(request_id)
    with app_at(url) as app:
        sent = app.send_task("lifecycle.settle")
        with app.connection_for_read() as connection, connection.SimpleQueue("settle") as queue:
            message = queue.get(timeout=20)
            message.ack()
            assert message.headers["id"] == sent.id
    assert asyncio.run(pong(url))


async def pong(url: str) -> bool:
    client = connect_async(url, timeout_s=5, max_connections=2)
    try:
        return bool(await client.ping())
    finally:
        await client.aclose()


def test_a_password_is_taken_from_the_address(server: Started) -> None:
    takes_and_gives(f"redis://:{QUOTED}@127.0.0.1:{server.port}/0")
    takes_and_gives(f"redis://default:{QUOTED}@127.0.0.1:{server.port}/3")


def test_a_wrong_password_is_told_at_once_and_quoted_nowhere(server: Started) -> None:
    url = f"redis://:wr0ng@127.0.0.1:{server.port}/0"
    start = time.monotonic()
    with pytest.raises(redis.AuthenticationError) as told:
        connect(url, patience_s=60).ping()
    with pytest.raises(OperationalError) as refused, app_at(url) as app:
        app.send_task("lifecycle.settle")
    assert time.monotonic() - start < MOST_S
    assert "wr0ng" not in f"{told.value!r} {refused.value!r} {app.connection_for_read().as_uri()}"


def test_the_server_behind_tls_is_the_one_whose_certificate_is_trusted(server: Started, tmp_path: Path) -> None:
    context, trusted = make_certificate(tmp_path)
    with network(server.port, context) as secured:
        address = f"rediss://:{QUOTED}@localhost:{secured.port}/0"
        takes_and_gives(f"{address}?ssl_ca_certs={trusted}")
    with network(server.port, context) as secured:
        address = f"rediss://:{QUOTED}@localhost:{secured.port}/0"
        with pytest.raises(redis.ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
            connect(address).ping()
        with pytest.raises(OperationalError, match="CERTIFICATE_VERIFY_FAILED"), app_at(address) as app:
            app.send_task("lifecycle.settle")
        with pytest.raises(redis.ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
            asyncio.run(pong(address))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:6379",
        "redis://",
        "redis://:secret@host:port",
        "unix://",
        "sentinel://:secret@host",
        "sentinel:///m",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(BadAddress) as refused:
        check_address(url)
    assert "secret" not in str(refused.value) and refused.value.__cause__ is None


def test_an_address_of_sentinels_names_all_of_them() -> None:
    url = "sentinels://ann:a%2Fb@one,[::1]:5/main/2?sentinel_password=c%2Fd&ssl_ca_certs=/ca.pem"
    found = sentinel_address(check_address(url))
    assert found is not None and found.nodes == (("one", 26379), ("::1", 5))
    assert (found.master, found.database, found.user, found.password) == ("main", 2, "ann", "a/b")
    assert (found.sentinel_password, found.tls) == ("c/d", {"ssl_ca_certs": "/ca.pem"})
    assert "a/b" not in repr(found) and "c/d" not in repr(found)


ASKING: dict[str, Callable[[str], Any]] = {
    "append": lambda url: RedisEventLog.from_url(url).append("r", [text(1)], 1),
    "wait for an answer": lambda url: connect(url).blpop(["never"], timeout=1),
    "queue": lambda url: app_at(url).send_task("lifecycle.settle"),
    "stream": lambda url: asyncio.run(pong(url)),
}
"""Each waits for a server that says nothing more."""


def test_a_network_that_goes_silent_holds_no_caller_for_long(server: Started) -> None:
    """All wait at once: the limits are long."""
    with network(server.port) as between, ThreadPoolExecutor(len(ASKING)) as callers:
        url = f"redis://:{QUOTED}@127.0.0.1:{between.port}/0"
        between.cut()
        start = time.monotonic()
        asked = {name: callers.submit(ask, url) for name, ask in ASKING.items()}
        told = {name: each.exception(timeout=2 * MOST_S) for name, each in asked.items()}
        assert time.monotonic() - start < MOST_S
        assert [name for name, each in told.items() if not isinstance(each, redis.RedisError | OperationalError)] == []
        between.mend()
        for ask in ASKING.values():
            ask(url)


def test_a_connection_that_died_in_silence_is_replaced(server: Started) -> None:
    """The server's answers on it are lost for ever; new connections pass."""
    with network(server.port) as between:
        url = f"redis://:{QUOTED}@127.0.0.1:{between.port}/0"
        log, app = RedisEventLog.from_url(url), app_at(url)
        log.append("replaced", [text(1)], 1)
        app.send_task("lifecycle.settle")
        between.cut()
        between.mend()
        start = time.monotonic()
        assert log.append("replaced", [text(2)], 1).last_seq == 2
        app.send_task("lifecycle.settle")
        assert time.monotonic() - start < MOST_S
        app.close()


@pytest.fixture
def sentinels(tmp_path: Path) -> Iterator[Sentinels]:
    running = Sentinels(tmp_path)
    yield running
    running.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_log_and_queue_go_on_with_the_server_that_the_sentinels_choose(
    sentinels: Sentinels, number: signal.Signals
) -> None:
    takes_and_gives(sentinels.url)
    log, app = RedisEventLog.from_url(sentinels.url, patience_s=17), app_at(sentinels.url)
    log.append("r", [text(1)], 1)
    app.send_task("lifecycle.settle")
    assert connect(sentinels.url).execute_command("WAIT", 1, 5000) == 1
    sentinels.first.send(number)
    assert log.append("r", [text(2)], 1).last_seq == 2
    assert [frame.seq for frame in log.read("r")] == [1, 2]
    until(lambda: is_sent(app), MOST_S)
    takes_and_gives(sentinels.url.replace("/main/0", "/main/1"))
    app.close()


def is_sent(app: Celery) -> bool:
    try:
        return bool(app.send_task("lifecycle.settle"))
    except OperationalError:
        return False
