"""A site of its own behind a real Daphne. No worker runs: the tests write the logs."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import psutil
import pytest
import redis

from inference.eventlog.keys import log_key, meta_key
from inference.eventlog.redis_log import RedisEventLog
from inference.protocol.events import AnyEvent, RequestFailed, TextReleased
from tests.environment import needs_migration, share_database
from tests.lost_logs import lose
from tests.ports import free_port
from tests.preloaded import PreloadedChild, end_forks_of, manage
from tests.sign_in import link_in, sign_in_by_link

ROOT = Path(__file__).parents[4]


class Site:
    """A running web process."""

    def __init__(self, data: Path, redis_url: str, **settings: str) -> None:
        self.data = data
        port = str(free_port())
        own = {"SIGHTGLASS_DATA": str(data), "SIGHTGLASS_REDIS_URL": redis_url, "PORT": port}
        self.env = os.environ | own | settings
        self.log = RedisEventLog.from_url(redis_url)
        self._redis = redis.Redis.from_url(redis_url)
        self.host = f"127.0.0.1:{port}"
        if "SIGHTGLASS_DATABASE_URL" not in settings:
            share_database(data)
        if needs_migration(settings):
            self.manage("migrate", "--verbosity", "0")
        command = [sys.executable, "-m", "webapp.serve", "-b", "127.0.0.1", "-p", port, "webapp.asgi:application"]
        self.child = PreloadedChild("web", command, data / "web.log", self.env)
        self.client = httpx.Client(base_url=f"http://{self.host}", timeout=120)
        self._wait_until_up()

    def sign_in(self) -> None:
        database = self.data / "sightglass.sqlite3"
        link = link_in(database) if database.exists() else self.manage("signin_link").strip()
        sign_in_by_link(self.client, link)

    def sign_out(self) -> None:
        assert self.client.post("/accounts/logout/").status_code == 302

    def manage(self, *arguments: str) -> str:
        return manage(self.env, *arguments)

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + 240
        while True:
            try:
                self.client.get("/healthz")
                return
            except httpx.TransportError:
                assert time.monotonic() < deadline, self.child.last_line()
                time.sleep(0.05)

    @property
    def cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.client.cookies.items())

    def request(self) -> str:
        """A new request: the gateway has written its first two events, the rest is up to the test."""
        conversation = self.client.post("/api/conversations", json={}).json()["id"]
        sent = self.client.post(f"/api/conversations/{conversation}/messages", json={"text": "Hello"})
        assert sent.status_code == 201, sent.text
        return str(sent.json()["assistant_message"]["request_id"])

    def forget_open_requests(self) -> None:
        """Those of earlier tests no longer count towards what one user may have open."""
        self._execute("UPDATE lifecycle_request SET finished_at = created_at")

    def give_away(self, request_id: str) -> None:
        """The request is somebody else's from now on."""
        code = "from django.contrib.auth.models import User; print(User.objects.create_user('bob').pk)"
        bob = self.manage("shell", "--no-imports", "-c", code)
        self._execute("UPDATE lifecycle_request SET user_id = ? WHERE id = ?", int(bob), request_id)

    def _execute(self, statement: str, *parameters: object) -> None:
        with closing(sqlite3.connect(self.data / "sightglass.sqlite3", timeout=20)) as database, database:
            database.execute(statement, parameters)

    def write(self, request_id: str, texts: list[str]) -> None:
        """One frame."""
        self.log.append(request_id, [TextReleased(at=1, text=text, num_tokens=1) for text in texts], 1)

    def end(self, request_id: str) -> int:
        end: AnyEvent = RequestFailed(at=2, stage="generation", code="internal", message="The test is over.")
        return self.log.append(request_id, [end], 1).last_seq

    def settle(self, request_id: str, blob: bytes | None = None) -> None:
        """As the lifecycle worker would; `blob` replaces the saved trace's bytes."""
        code = f"from webapp.lifecycle.settle import settle; settle('{request_id}')"
        self.manage("shell", "--no-imports", "-c", code)
        if blob is not None:
            self._execute("UPDATE traces_trace SET blob = ? WHERE request_id = ?", blob, request_id)

    def lose_log(self, request_id: str, is_meta_lost: bool = False) -> None:
        keys = [log_key(request_id)] + [meta_key(request_id)] * is_meta_lost
        self._redis.delete(*keys)

    def put_back(self, request_id: str, num_left: int) -> None:
        """To its first frames: Redis lost the rest."""
        lose(self.log, request_id, num_left, self._redis)

    def seconds_left(self, request_id: str) -> int:
        """Until the log expires."""
        return int(self._redis.ttl(log_key(request_id)))

    def num_files(self) -> int:
        return int(psutil.Process(self.child.pid).num_fds())

    def num_threads(self) -> int:
        return int(psutil.Process(self.child.pid).num_threads())

    def resident_mib(self) -> float:
        return float(psutil.Process(self.child.pid).memory_info().rss) / (1 << 20)

    def close(self) -> None:
        self.client.close()
        self._redis.close()
        self.child.send(signal.SIGKILL)
        assert self.child.wait(10)
        end_forks_of(self.env)


@pytest.fixture(scope="module")
def site(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    running = Site(tmp_path_factory.mktemp("site"), redis_url)
    running.sign_in()
    yield running
    running.close()
