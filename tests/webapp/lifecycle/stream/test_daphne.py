"""Streams over real sockets: no event is lost or doubled, and a stopped reader costs a bounded amount."""

from __future__ import annotations

import itertools
import json
import random
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from inference.eventlog.event_log import RETIRED_EXPIRY_S
from tests.faults.conftest import until
from tests.webapp.lifecycle.stream.conftest import Site
from webapp.ground.gateway.handler import NUM_THREADS
from webapp.lifecycle.stream.places import MAX_STREAMS

pytestmark = pytest.mark.slow

NUM_STREAMS = 12
NUM_IDLE = 30
Event = tuple[int, dict[str, Any]]


@pytest.fixture(autouse=True)
def _room_for_requests(site: Site) -> None:
    site.forget_open_requests()


def events_of(frame: dict[str, Any]) -> list[Event]:
    return list(enumerate(frame["events"], frame["seq"]))


def sse(site: Site, request_id: str, after: int, most: int = 10**9) -> list[Event]:
    """What one connection brings; it is dropped after `most` events."""
    found: list[Event] = []
    headers = {"Last-Event-ID": str(after)} if after else {}
    with site.client.stream("GET", f"/api/requests/{request_id}/events", headers=headers) as response:
        assert response.status_code == 200
        for line in response.iter_lines():
            if line.startswith('data: {"seq"'):
                found += events_of(json.loads(line[6:]))
            if len(found) >= most or line == "event: end":
                break
    return found


def websocket(site: Site, path: str = "events", **more: Any) -> ClientConnection:
    # Unbounded queue: with a full one the client cannot see the reply to its own close, and waits 10 s for it.
    defaults = {"origin": f"http://{site.host}", "additional_headers": {"Cookie": site.cookie}, "max_queue": None}
    more = defaults | more
    return connect(f"ws://{site.host}/{path}", **more)


def follow(connection: ClientConnection, request_id: str, after: int | str = 0, tag: int = 1) -> None:
    connection.send(json.dumps({"type": "follow", "tag": tag, "request_id": request_id, "after": after}))


def receive(connection: ClientConnection) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(connection.recv(timeout=10))
    return message


def messages(site: Site, request_id: str, after: int, most: int = 10**9) -> list[Event]:
    """The same over a WebSocket."""
    found: list[Event] = []
    with websocket(site) as connection:
        follow(connection, request_id, after)
        for num_messages in itertools.count(1):
            message = receive(connection)
            found += events_of(message) if "seq" in message else []
            if len(found) >= most or "end" in message:
                break
            connection.send(json.dumps({"type": "ack", "num_messages": num_messages}))
    return found


@pytest.mark.parametrize("read", [sse, messages])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_connections_cut_anywhere_add_up_to_the_log(site: Site, read: Any, seed: int) -> None:
    chance, request_id = random.Random(seed), site.request()

    def write() -> None:
        for n in range(150):
            site.write(request_id, [f"{n}.{part} é🙂" for part in range(chance.randint(1, 4))])
            time.sleep(chance.choice([0, 0, 0.002, 0.01]))
        site.end(request_id)

    writer, cuts = threading.Thread(target=write), random.Random(seed + 100)
    writer.start()
    found: list[Event] = []
    num_connections = 0
    while not found or found[-1][1]["type"] != "request.failed":
        found += read(site, request_id, found[-1][0] if found else 0, cuts.randint(1, 60))
        num_connections += 1
    writer.join()
    assert num_connections > 4
    assert [seq for seq, _ in found] == list(range(1, len(found) + 1))
    assert found == read(site, request_id, 0)


def test_a_reader_that_has_seen_the_end_does_not_wait_for_another(site: Site) -> None:
    request_id = site.request()
    last = site.end(request_id)
    assert sse(site, request_id, last) == []
    assert messages(site, request_id, last) == []


@pytest.mark.parametrize("read", [sse, messages])
def test_a_log_that_expires_while_it_is_read_goes_on_from_the_saved_trace(site: Site, read: Any) -> None:
    request_id = site.request()
    found: list[Event] = []
    reader = threading.Thread(target=lambda: found.extend(read(site, request_id, 0)))
    reader.start()
    site.write(request_id, ["seen"])
    time.sleep(0.5)
    site.child.send(signal.SIGSTOP)
    try:
        for n in range(5):
            site.write(request_id, [f"unseen {n}"])
        site.settle(request_id)
        assert 0 < site.seconds_left(request_id) <= RETIRED_EXPIRY_S
        site.lose_log(request_id)
    finally:
        site.child.send(signal.SIGCONT)
    reader.join(20)
    assert [seq for seq, _ in found] == list(range(1, 10))
    assert found[-1][1]["type"] == "request.failed"


@pytest.mark.parametrize("read", [sse, messages])
def test_a_log_lost_with_its_redis_ends_only_with_the_requests_end(site: Site, read: Any) -> None:
    request_id = site.request()
    found: list[Event] = []
    reader = threading.Thread(target=lambda: found.extend(read(site, request_id, 0)))
    site.lose_log(request_id, is_meta_lost=True)
    reader.start()
    reader.join(1)
    assert reader.is_alive()
    assert found == []
    site.settle(request_id)
    reader.join(20)
    assert [event["type"] for _, event in found] == ["request.accepted", "request.failed"]
    assert read(site, request_id, 50) == found


class Reader:
    """Follows a request as a client does: it keeps the last frame's id, and begins again where it is told to."""

    def __init__(self, site: Site, request_id: str, is_websocket: bool) -> None:
        self.request_id, self._site, self._is_websocket = request_id, site, is_websocket
        self.events: list[Event] = []
        self.last_id: str | int = 0
        self.num_again = 0
        self.has_eight = threading.Event()

    def read(self, most: int = 10**9) -> None:
        """One connection, until the end, or dropped once so many events are there."""
        for message in self._messages():
            if "again" in message:
                self.events, self.last_id, self.num_again = [], 0, self.num_again + 1
            elif "seq" in message:
                self.events += events_of(message)
                self.last_id = message.get("id", self.events[-1][0])
            if len(self.events) >= 8:
                self.has_eight.set()
            if len(self.events) >= most or "end" in message:
                return

    def _messages(self) -> Iterator[dict[str, Any]]:
        if self._is_websocket:
            with websocket(self._site) as connection:
                follow(connection, self.request_id, self.last_id)
                while True:
                    yield receive(connection)
        path, headers = f"/api/requests/{self.request_id}/events", {"Last-Event-ID": f"{self.last_id}"}
        with self._site.client.stream("GET", path, headers=headers if self.last_id else {}) as response:
            for line in response.iter_lines():
                name, _, value = line.partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    yield json.loads(value) if kind == "frame" else {kind: True}

    def check(self, texts: list[str]) -> None:
        assert [seq for seq, _ in self.events] == list(range(1, len(self.events) + 1))
        assert [event["text"] for _, event in self.events if event["type"] == "text.released"] == texts


both = pytest.mark.parametrize("is_websocket", [False, True])


@both
@pytest.mark.parametrize("num_left", [0, 1, 3, 5])
def test_a_reader_of_a_log_that_was_lost_and_written_anew_begins_again(
    site: Site, is_websocket: bool, num_left: int
) -> None:
    """While it is connected, and where it comes back with the id of a frame that is there no more."""
    request_id = site.request()
    readers = [Reader(site, request_id, is_websocket) for _ in range(3)]
    for n in range(6):
        site.write(request_id, [f"old {n}"])
    for reader in readers[1:]:
        reader.read(8)
    with ThreadPoolExecutor() as pool:
        connected = pool.submit(readers[0].read)
        assert readers[0].has_eight.wait(120)
        site.put_back(request_id, num_left)
        if num_left == 0:
            site.write(request_id, ["begun", "again"])
        for n in range(12):
            site.write(request_id, [f"new {n}"])
        readers[1].read(10)
        site.end(request_id)
        connected.result(120)
    for reader in readers[1:]:
        reader.read()
    texts = [f"old {n}" for n in range(num_left - 1)] if num_left else ["begun", "again"]
    for reader in readers:
        reader.check([*texts, *(f"new {n}" for n in range(12))])
        assert reader.num_again == 1


@both
def test_a_reader_notices_nothing_of_a_log_that_was_put_back_as_it_was(site: Site, is_websocket: bool) -> None:
    request_id = site.request()
    readers = [Reader(site, request_id, is_websocket) for _ in range(2)]
    for n in range(6):
        site.write(request_id, [f"{n}"])
    for reader in readers[1:]:
        reader.read(8)
    with ThreadPoolExecutor() as pool:
        connected = pool.submit(readers[0].read)
        assert readers[0].has_eight.wait(120)
        whole = site.log.entries(request_id)
        site.put_back(request_id, 3)
        site.log.put_back(request_id, 1, "", whole[2].mark, whole[3:])
        site.write(request_id, ["6"])
        site.end(request_id)
        connected.result(120)
    readers[1].read()
    for reader in readers:
        reader.check([f"{n}" for n in range(7)])
        assert reader.num_again == 0


@both
def test_a_reader_that_comes_back_after_the_end_gets_the_rest_or_begins_again(site: Site, is_websocket: bool) -> None:
    request_id = site.request()
    same, other, bare = (Reader(site, request_id, is_websocket) for _ in range(3))
    for n in range(3):
        site.write(request_id, [f"{n}"])
    for reader in (same, bare):
        reader.read(4)
    lost = site.log.mark(request_id).seq
    site.write(request_id, ["lost"])
    other.read(lost + 1)
    site.put_back(request_id, 4)
    for n in (3, 4):
        site.write(request_id, [f"{n}"])
    site.settle(request_id)
    site.lose_log(request_id, is_meta_lost=True)
    bare.last_id = bare.events[-1][0]
    for reader in (same, other, bare):
        reader.read()
        reader.check([f"{n}" for n in range(5)])
    assert (same.num_again, other.num_again, bare.num_again) == (0, 1, 0)


def test_a_saved_trace_that_cannot_be_read_is_refused_and_says_so(site: Site) -> None:
    request_id = site.request()
    site.settle(request_id, b"damaged")
    for path in (f"/api/requests/{request_id}/events", f"/api/requests/{request_id}/export"):
        response = site.client.get(path)
        assert (response.status_code, response.json()["error"]["code"]) == (409, "trace_unreadable")
        assert response.json()["error"]["message"].startswith("The saved trace cannot be read: The file is not a")
    with websocket(site) as connection:
        follow(connection, request_id)
        assert receive(connection)["error"]["code"] == "trace_unreadable"


def test_open_sse_streams_keep_no_database_connection(site: Site) -> None:
    request_id, before = site.request(), site.num_files()
    with ExitStack() as streams:
        for _ in range(NUM_STREAMS):
            streams.enter_context(site.client.stream("GET", f"/api/requests/{request_id}/events"))
        assert site.num_files() - before < NUM_STREAMS + 8


def test_thirty_idle_sse_streams_keep_no_thread_and_nobody_waits_for_them(site: Site) -> None:
    request_id, others = site.request(), site.request()
    with ThreadPoolExecutor(NUM_THREADS) as clients:  # so that all threads that the site may have are there
        list(clients.map(lambda _: site.client.get("/api/session"), range(4 * NUM_THREADS)))
    before, idle = site.num_threads(), [stopped_sse(site, request_id) for _ in range(NUM_IDLE)]
    try:
        for connection in idle:
            connection.settimeout(10)
            while b"request.accepted" not in connection.recv(1 << 16):
                pass
        assert site.num_threads() - before < NUM_THREADS
        started = time.perf_counter()
        assert site.client.get(f"/api/requests/{others}").status_code == 200
        assert time.perf_counter() - started < 2
        site.write(request_id, ["to all of them"])
        assert all(b"to all of them" in connection.recv(1 << 16) for connection in idle)
    finally:
        for connection in idle:
            connection.close()


def test_a_new_reader_does_not_wait_for_the_hubs_blocking_read(site: Site) -> None:
    old, new = site.request(), site.request()
    with websocket(site) as connection:
        follow(connection, old)
        receive(connection)  # the hub is blocked on this log now
        follow(connection, new, tag=2)
        receive(connection)
        delays = []
        for _ in range(5):
            written = time.perf_counter()
            site.write(new, ["x"])
            assert receive(connection)["tag"] == 2
            delays.append(time.perf_counter() - written)
    assert max(delays) < 1


def stopped_sse(site: Site, request_id: str) -> socket.socket:
    """Asks for the stream and never reads."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    host, port = site.host.split(":")
    connection.connect((host, int(port)))
    head = f"GET /api/requests/{request_id}/events HTTP/1.1\r\nHost: {site.host}\r\nCookie: {site.cookie}\r\n\r\n"
    connection.sendall(head.encode())
    return connection


def rest(connection: socket.socket) -> Iterator[bytes]:
    connection.settimeout(10)
    while data := connection.recv(1 << 16):
        yield data
        if data.endswith(b"0\r\n\r\n"):
            return


NUM_STOPPED = 8
NUM_FOLLOWED = 3
LOG_MIB = 24


def write_much(site: Site, request_id: str) -> None:
    for _ in range(LOG_MIB * 16):
        site.write(request_id, ["x" * (1 << 16)])
    site.end(request_id)


def read_to_the_end(site: Site, request_id: str) -> list[int]:
    seen: list[Event] = []
    while not seen or seen[-1][1]["type"] != "request.failed":
        seen += sse(site, request_id, seen[-1][0] if seen else 0)
    return [seq for seq, _ in seen]


def test_stopped_sse_readers_hold_little_and_are_told_to_resume(site: Site) -> None:
    request_id = site.request()
    before = site.resident_mib()
    stopped = [stopped_sse(site, request_id) for _ in range(NUM_STOPPED)]
    write_much(site, request_id)
    # A reader that keeps coming back gets everything meanwhile.
    assert read_to_the_end(site, request_id) == list(range(1, LOG_MIB * 16 + 4))
    grown = site.resident_mib() - before
    assert grown < NUM_STOPPED * LOG_MIB * 3 / 4, grown
    text = b"".join(rest(stopped[0]))
    assert b"event: resume\ndata: {" in text
    assert len(text) < 6 << 20
    for connection in stopped:
        connection.close()


def test_websocket_readers_that_acknowledge_nothing_hold_little_and_are_told_to_resume(site: Site) -> None:
    request_id = site.request()
    before = site.resident_mib()
    with ExitStack() as connections:
        stopped = [connections.enter_context(websocket(site, max_queue=1)) for _ in range(NUM_STOPPED)]
        for connection in stopped:
            for tag in range(NUM_FOLLOWED):
                follow(connection, request_id, tag=tag)
        write_much(site, request_id)
        assert read_to_the_end(site, request_id)[-1] == LOG_MIB * 16 + 3
        grown = site.resident_mib() - before
        assert grown < NUM_STOPPED * LOG_MIB * 3 / 4, grown
        for connection in stopped:
            connection.close_socket()
    with websocket(site) as alive:
        follow(alive, request_id)
        received: list[dict[str, Any]] = []
        assert close_code(alive, received) == 4008
    assert received.pop()["resume"] == received[-1]["id"]
    assert sum(map(len, map(str, received))) < 2 << 20


@pytest.mark.parametrize("origin", [None, "null", "http://127.0.0.1:1", "https://evil.example", "http://["])
def test_a_page_of_another_address_gets_no_websocket(site: Site, origin: Any) -> None:
    with pytest.raises(InvalidStatus):
        websocket(site, origin=origin)


@pytest.mark.parametrize("path", ["", "requests/req_x/events", "events/", "%00"])
def test_no_other_address_has_a_websocket(site: Site, path: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        websocket(site, path)
    assert refused.value.response.status_code == 403


def close_code(connection: ClientConnection, received: list[dict[str, Any]] | None = None) -> int:
    """How the server ended it, after what it sent."""
    with pytest.raises(ConnectionClosed) as closed:
        while message := connection.recv(timeout=10):
            if received is not None:
                received.append(json.loads(message))
    assert closed.value.rcvd is not None
    return int(closed.value.rcvd.code)


def test_a_stranger_gets_no_websocket(site: Site) -> None:
    with pytest.raises(InvalidStatus) as refused:
        websocket(site, additional_headers={})
    assert refused.value.response.status_code == 403


def test_nobody_elses_request_is_there_and_the_connection_stays(site: Site) -> None:
    mine, others = site.request(), site.request()
    site.give_away(others)
    with websocket(site) as connection:
        for tag, request_id in enumerate([others, "req_none", "", "req_\0", "x" * 5000]):
            follow(connection, request_id, tag=tag)
            error = {"code": "not_found", "message": "There is no such request."}
            assert receive(connection) == {"tag": tag, "error": error}
        follow(connection, mine)
        assert events_of(receive(connection))[0][0] == 1


def test_who_signs_out_follows_nothing_more(site: Site) -> None:
    request_id, admin = site.request(), site.cookie
    with websocket(site) as connection:
        follow(connection, request_id)
        assert "events" in receive(connection)
        site.sign_out()
        try:
            follow(connection, request_id, tag=2)
            assert receive(connection)["error"]["code"] == "not_signed_in"
        finally:
            site.sign_in()
    assert site.cookie != admin


def test_one_connection_follows_many_requests(site: Site) -> None:
    site.forget_open_requests()
    followed = [site.request() for _ in range(8)]
    found: dict[int, list[Event]] = {tag: [] for tag in range(8)}
    with websocket(site) as connection:
        for tag, request_id in enumerate(followed):
            follow(connection, request_id, tag=tag)
        for n in range(20):
            for request_id in followed:
                site.write(request_id, [f"{n}"])
        for request_id in followed:
            site.end(request_id)
        num_ended = 0
        while num_ended < 8:
            message = receive(connection)
            num_ended += "end" in message
            found[message["tag"]] += events_of(message) if "seq" in message else []
    for tag, request_id in enumerate(followed):
        assert [seq for seq, _ in found[tag]] == list(range(1, 24))
        assert found[tag] == sse(site, request_id, 0)


def test_what_is_followed_no_more_sends_nothing_and_its_tag_is_free_again(site: Site) -> None:
    request_id = site.request()
    with websocket(site) as connection:
        follow(connection, request_id)
        last = events_of(receive(connection))[-1][0]
        connection.send(json.dumps({"type": "unfollow", "tag": 1}))
        connection.send(json.dumps({"type": "unfollow", "tag": 5}))  # nobody's
        follow(connection, "req_none", tag=2)
        assert receive(connection)["tag"] == 2
        site.write(request_id, ["unseen until it is asked for"])
        follow(connection, request_id, last)
        assert events_of(receive(connection))[0][0] == last + 1


def test_a_log_that_outruns_one_reader_is_resumed_beside_the_others(site: Site) -> None:
    fast, slow = site.request(), site.request()
    with websocket(site) as connection:
        follow(connection, fast)
        follow(connection, slow, tag=2)
        for _ in range(2):
            receive(connection)
        for _ in range(2):  # the second surely comes by the hub, not from the log as it stood
            site.write(fast, ["live"])
            receive(connection)
        site.child.send(signal.SIGSTOP)  # all of it comes in one read
        try:
            for _ in range(40):
                site.write(fast, ["x" * (1 << 16)])
        finally:
            site.child.send(signal.SIGCONT)
        for num_messages in itertools.count(5):
            message = receive(connection)
            connection.send(json.dumps({"type": "ack", "num_messages": num_messages}))
            if "resume" in message:
                break
        site.write(slow, ["still followed"])
        assert receive(connection)["tag"] == 2
        follow(connection, fast, message["resume"], tag=3)
        assert events_of(receive(connection))[0][0] == int(message["resume"].partition("-")[0]) + 1


@pytest.mark.parametrize(
    "message",
    [
        "",
        "5",
        "[]",
        "{}",
        '{"type": "ack"}',
        '{"type": "ack", "num_messages": 1e999}',
        '{"type": "ack", "num_messages": -1}',
        '{"type": "follow", "tag": 1, "request_id": "req_x", "after": -1}',
        '{"type": "follow", "tag": 1, "request_id": "req_x", "after": 9999999999999999999}',
        "[" * 50_000,
        b"\xff",
    ],
)
def test_a_message_that_says_nothing_is_refused(site: Site, message: str | bytes) -> None:
    with websocket(site) as connection:
        connection.send(message)
        assert close_code(connection) == 4400


def test_requests_that_come_at_once_do_not_pass_the_limit(site: Site) -> None:
    conversations = [site.client.post("/api/conversations", json={}).json()["id"] for _ in range(14)]
    body = {"text": "Hello"}
    with ThreadPoolExecutor(14) as senders:
        paths = [f"/api/conversations/{each}/messages" for each in conversations]
        statuses = [sent.status_code for sent in senders.map(lambda path: site.client.post(path, json=body), paths)]
    assert sorted(statuses) == [201] * 8 + [429] * 6


def test_too_many_requests_are_not_followed(site: Site) -> None:
    request_id = site.request()
    with websocket(site) as connection:
        for tag in range(33):
            follow(connection, request_id, tag=tag)
        assert close_code(connection) == 4400
    with websocket(site) as connection:
        for _ in range(2):
            follow(connection, request_id)
        assert close_code(connection) == 4400


@pytest.mark.parametrize("after", ["-1", "x", "١", "9" * 30])
def test_a_place_that_is_none_is_refused(site: Site, after: str) -> None:
    path = f"/api/requests/{site.request()}/events"
    assert site.client.get(path, params={"after": after}).status_code == 400


def test_a_user_has_thirty_two_streams_and_another_when_one_is_left(site: Site) -> None:
    request_id = site.request()
    path = f"/api/requests/{request_id}/events"
    open_ones = [stopped_sse(site, request_id) for _ in range(MAX_STREAMS)]
    try:
        for connection in open_ones:
            connection.settimeout(60)
            assert b"200" in connection.recv(1 << 16)
        refused = site.client.get(path)
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_streams")
        assert int(refused.headers["Retry-After"]) > 0
        with websocket(site) as connection, pytest.raises(ConnectionClosed) as closed:
            connection.recv(timeout=60)
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 4429
        open_ones.pop().close()
        until(lambda: is_open(site, path), 60)
    finally:
        for connection in open_ones:
            connection.close()


def is_open(site: Site, path: str) -> bool:
    with site.client.stream("GET", path) as response:
        return response.status_code == 200
