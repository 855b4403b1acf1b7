"""A connection that breaks between an append and its reply: nothing is lost, nothing stands in the log twice."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from inference.eventlog.redis_log import RedisEventLog
from inference.protocol.events import TextReleased


class Proxy:
    """Stands between client and server. It can swallow the next reply, and cut that connection once it may."""

    def __init__(self, path: Path, server_path: str) -> None:
        self.url = f"unix://{path}?db=0"
        self.swallows_next, self.has_swallowed, self.may_cut = (threading.Event() for _ in range(3))
        self.may_cut.set()
        self._server_path = server_path
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self._server_path)
            while request := client.recv(1 << 20):
                server.sendall(request)
                reply = server.recv(1 << 20)
                if self.swallows_next.is_set():
                    self.swallows_next.clear()
                    self.has_swallowed.set()
                    self.may_cut.wait()
                    return
                client.sendall(reply)


@pytest.fixture
def proxy(redis_client: redis.Redis, redis_url: str, tmp_path: Path) -> Iterator[Proxy]:
    server_path = redis_url.removeprefix("unix://").partition("?")[0]
    proxy = Proxy(tmp_path / "proxy.sock", server_path)
    yield proxy
    proxy.close()


def text(n: int) -> TextReleased:
    return TextReleased(at=n, text=str(n), num_tokens=n)


def test_an_append_whose_reply_is_lost_is_in_the_log_once(proxy: Proxy, redis_client: redis.Redis) -> None:
    log = RedisEventLog.from_url(proxy.url)
    assert log.append("r", [text(1), text(2)], 1).last_seq == 2
    proxy.swallows_next.set()
    assert log.append("r", [text(3)], 1).last_seq == 3
    assert not proxy.swallows_next.is_set()
    assert log.append("r", [text(4)], 1).last_seq == 4
    assert [(frame.seq, len(frame.events)) for frame in RedisEventLog(redis_client).read("r")] == [
        (1, 2),
        (3, 1),
        (4, 1),
    ]


def test_equal_events_of_two_appends_are_two_frames(proxy: Proxy) -> None:
    log, other = RedisEventLog.from_url(proxy.url), RedisEventLog.from_url(proxy.url)
    assert [writer.append("r", [text(1)], 1).last_seq for writer in (log, other, log, other)] == [1, 2, 3, 4]


def test_a_claim_whose_reply_is_lost_is_still_the_first(proxy: Proxy) -> None:
    log, other = RedisEventLog.from_url(proxy.url), RedisEventLog.from_url(proxy.url)
    log.append("r", [text(1)], 1)
    assert log.claim("r", 1)
    proxy.swallows_next.set()
    assert other.claim("r", 2)
    assert not proxy.swallows_next.is_set()
    assert not log.claim("r", 2)


def test_a_lost_reply_doubles_nothing_where_another_thread_appends_before_the_second_try(proxy: Proxy) -> None:
    """For example a stop in the web process, while the request's start is tried again."""
    log = RedisEventLog.from_url(proxy.url)
    log.append("other", [text(1)], 1)  # the server has the script from now on
    proxy.may_cut.clear()
    proxy.swallows_next.set()
    first = threading.Thread(target=log.append, args=("r", [text(1)], 1))
    first.start()
    assert proxy.has_swallowed.wait(120)
    assert log.append("r", [text(2)], 1).last_seq == 2
    proxy.may_cut.set()
    first.join()
    assert [event.at for frame in log.read("r") for event in frame.events] == [1, 2]
