"""A connection that breaks between an append and its reply: nothing is lost, nothing stands in the log twice."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from inference.eventlog.entry import BEGINNING
from inference.eventlog.event_log import EventLog
from inference.eventlog.redis_log import RedisEventLog
from inference.protocol.events import TextReleased
from inference.protocol.request import StepCommand
from inference.worker.journal import Journal
from tests.lost_logs import lose


class Proxy:
    """Stands between client and server. It can swallow the next reply, and cut that connection once it may.

    It can also cut at one command, counted from 0: before the server has it, or before its reply is passed on.
    """

    def __init__(self, path: Path, server_path: str) -> None:
        self.url = f"unix://{path}?db=0"
        self.swallows_next, self.has_swallowed, self.may_cut = (threading.Event() for _ in range(3))
        self.may_cut.set()
        self.num_commands, self.cut_at, self.is_cut_before = 0, -1, False
        self._counting = threading.Lock()
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
                is_cut = self._count()
                if is_cut and self.is_cut_before:
                    return
                server.sendall(request)
                reply = server.recv(1 << 20)
                if is_cut:
                    return
                if self.swallows_next.is_set():
                    self.swallows_next.clear()
                    self.has_swallowed.set()
                    self.may_cut.wait()
                    return
                client.sendall(reply)

    def _count(self) -> bool:
        """Count a command; True where the connection is to be cut at this one."""
        with self._counting:
            self.num_commands += 1
            return self.num_commands - 1 == self.cut_at


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


def answer(log: EventLog) -> None:
    """Each kind of command that the log of an answer gets, a repair among them."""
    begun = log.append("r", [text(1), text(2)], 1, BEGINNING, True)
    log.command("r", StepCommand(position=0))
    assert log.claim("r", 1, "mine")
    own = Journal(log, "r", 1, begun.last_seq, "mine")
    own.append([text(3)])
    whole = log.entries("r")
    own.append([text(4), text(5)])
    own.append([text(6)])
    lost = log.entries("r")[len(whole) :]
    log.fence("r", 1)
    log.cancel("r")
    assert log.is_cancelled(["r"]) == [True] and log.is_claimed("r", 1) and len(log.commands("r", 0)) >= 1
    assert [entry.last_seq for entry in lost] == [5, 6] and log.mark("r").seq == log.last_seq("r") == 6
    log.fence("r", 2)
    log.append("r", [text(7)], 2, log.mark("r"), True)
    assert next(iter(log.read_backwards("r"))).last_seq == 7
    log.retire("r")


@pytest.mark.parametrize("is_cut_before", [True, False])
def test_a_cut_at_any_command_changes_nothing(proxy: Proxy, redis_client: redis.Redis, is_cut_before: bool) -> None:
    plain = RedisEventLog(redis_client)
    answer(plain)
    expected = plain.entries("r")
    warm = RedisEventLog.from_url(proxy.url)
    answer_of(warm, redis_client)
    num_commands = proxy.num_commands
    assert num_commands > 15
    for proxy.cut_at in range(num_commands):
        proxy.num_commands, proxy.is_cut_before = 0, is_cut_before
        answer_of(RedisEventLog.from_url(proxy.url), redis_client)
        assert proxy.num_commands > proxy.cut_at
        assert plain.entries("r") == expected


def answer_of(log: EventLog, client: redis.Redis) -> None:
    client.delete(*client.keys("*:{r}*"))
    answer(log)


@pytest.mark.parametrize("is_cut_before", [True, False])
def test_a_cut_at_any_command_of_two_threads_doubles_nothing(
    proxy: Proxy, redis_client: redis.Redis, is_cut_before: bool
) -> None:
    """Their appends meet in any order; each frame stands in the log once, in the order of its thread."""
    num_each = 6

    def write(log: RedisEventLog, thread: int) -> None:
        for n in range(num_each):
            log.append("r", [text(100 * thread + n)], 1)

    proxy.is_cut_before = is_cut_before
    for proxy.cut_at in range(2 * num_each):
        redis_client.delete(*redis_client.keys("*:{r}*") or ["none"])
        log = RedisEventLog.from_url(proxy.url)
        proxy.num_commands = 0
        threads = [threading.Thread(target=write, args=(log, thread)) for thread in (1, 2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        found = [event.at for frame in log.read("r") for event in frame.events]
        for thread in (1, 2):
            own = [at for at in found if at // 100 == thread]
            assert own == [100 * thread + n for n in range(num_each)]
        assert log.last_seq("r") == 2 * num_each


@pytest.mark.parametrize("is_cut_before", [True, False])
def test_a_repair_that_is_cut_at_any_command_puts_back_each_frame_once(
    proxy: Proxy, redis_client: redis.Redis, is_cut_before: bool
) -> None:
    plain = RedisEventLog(redis_client)
    proxy.is_cut_before = is_cut_before
    for num_left in (0, 1, 3):
        for cut_at in range(6):
            proxy.cut_at = -1
            redis_client.delete(*redis_client.keys("*:{r}*") or ["none"])
            plain.append("r", [text(0)], 1)
            own = Journal(RedisEventLog.from_url(proxy.url), "r", 1, 1, "mine")
            for n in range(1, 4):
                own.append([text(n)])
            before = plain.entries("r")
            lose(plain, "r", num_left, redis_client)
            proxy.num_commands, proxy.cut_at = 0, cut_at
            own.append([text(4)])
            assert plain.entries("r")[:-1] == before
            assert plain.last_seq("r") == 5
