"""Bodies over real sockets: each is bounded while it arrives, and a refusal reaches its client."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.webapp.lifecycle.stream.conftest import Site

pytestmark = pytest.mark.slow

MIB = 1 << 20
SENT = 2 << 30
MOST_HELD = 64 * MIB
LARGE = "/api/requests/import"
PATHS = ["/accounts/login/", "/", "/api/conversations", LARGE]


def deleted_bytes(site: Site) -> int:
    """Size of the temporary files that the web process holds open."""
    found = 0
    for each in Path(f"/proc/{site.child.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found += each.stat().st_size if str(each.readlink()).endswith("(deleted)") else 0
    return found


def resident_bytes(site: Site) -> int:
    return int(psutil.Process(site.child.pid).memory_info().rss)


class Held:
    """The most memory and disk that the web process takes above its own."""

    def __init__(self, site: Site) -> None:
        self._site, self._before = site, (resident_bytes(site), deleted_bytes(site))
        self.most = 0

    def look(self) -> None:
        now = resident_bytes(self._site), deleted_bytes(self._site)
        self.most = max(self.most, now[0] - self._before[0], now[1] - self._before[1])


def connection_to(site: Site) -> socket.socket:
    host, port = site.host.split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def head(site: Site, path: str, cookie: str, *more: str) -> bytes:
    token = dict(part.split("=", 1) for part in cookie.split("; ") if part).get("csrftoken", "")
    lines = [f"POST {path} HTTP/1.1", f"Host: {site.host}", f"Cookie: {cookie}", f"X-CSRFToken: {token}"]
    return "\r\n".join([*lines, "Content-Type: application/json", *more, "", ""]).encode()


def send(connection: socket.socket, parts: Iterable[bytes], held: Held) -> None:
    """Send until all is sent or the server has closed."""
    with suppress(BrokenPipeError, ConnectionResetError):
        for part in parts:
            connection.sendall(part)
            held.look()


def answer_of(connection: socket.socket) -> tuple[int, dict[str, str], Any]:
    response = HTTPResponse(connection)
    response.begin()
    return response.status, {name.lower(): text for name, text in response.getheaders()}, json.loads(response.read())


def chunks() -> Iterator[bytes]:
    chunk = b"100000\r\n" + bytes(MIB) + b"\r\n"
    for _ in range(SENT // MIB):
        yield chunk


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("is_signed_in", [False, True])
def test_an_endless_body_is_refused_while_it_arrives(site: Site, path: str, is_signed_in: bool) -> None:
    held = Held(site)
    with closing(connection_to(site)) as connection:
        connection.sendall(head(site, path, site.cookie if is_signed_in else "", "Transfer-Encoding: chunked"))
        sender = threading.Thread(target=send, args=(connection, chunks(), held))
        sender.start()
        status, headers, answer = answer_of(connection)
        connection.shutdown(socket.SHUT_WR)
        sender.join()
    expected = (413, "too_large") if is_signed_in or not path.startswith("/api/") else (401, "not_signed_in")
    assert (status, answer["error"]["code"]) == expected
    assert headers["connection"] == "close"
    assert held.most < MOST_HELD


@pytest.mark.parametrize("path", PATHS)
def test_a_body_that_announces_too_much_is_refused_before_it_arrives(site: Site, path: str) -> None:
    with closing(connection_to(site)) as connection:
        connection.sendall(head(site, path, site.cookie, f"Content-Length: {SENT}"))
        status, _, answer = answer_of(connection)
    assert (status, answer["error"]["code"]) == (413, "too_large")


def test_only_an_import_takes_more_than_two_mib(site: Site) -> None:
    for path, size, status in [
        ("/api/conversations", 2 * MIB, 400),
        ("/api/conversations", 2 * MIB + 1, 413),
        (LARGE, 3 * MIB, 400),
        ("/api/conversations/import", 3 * MIB, 400),
        (LARGE, 40 * MIB, 400),
        (LARGE, 40 * MIB + 1, 413),
    ]:
        assert site.client.post(path, content=b"x" * size).status_code == status, (path, size)


def test_strangers_fill_neither_memory_nor_disk_together(site: Site) -> None:
    held = Held(site)
    connections = [connection_to(site) for _ in range(200)]
    for connection in connections:
        connection.sendall(head(site, LARGE, "sessionid=none", f"Content-Length: {39 * MIB}"))
    for connection in connections:
        send(connection, [bytes(MIB)] * 39, held)
        assert answer_of(connection)[0] == 401
        connection.close()
    assert held.most < MOST_HELD
    assert site.client.get("/api/session").status_code == 200


def test_a_refused_upload_reaches_a_client_that_sends_all_of_it_first(site: Site) -> None:
    for num_mib in (3, 60):
        response = httpx.post(f"http://{site.host}/accounts/login/", content=bytes(num_mib * MIB), timeout=60)
        assert response.status_code == 413
        assert response.json()["error"]["message"].startswith("Without a sign-in")


def test_a_slow_sender_keeps_no_other_from_its_answer(site: Site) -> None:
    with_slow = [connection_to(site) for _ in range(200)]
    for number, connection in enumerate(with_slow):
        begun = head(site, "/api/conversations", site.cookie, "Content-Length: 60000")
        connection.sendall(begun if number % 2 else begun[:-20])
    assert site.client.get("/api/session").status_code == 200
    for connection in with_slow:
        connection.close()


def test_a_refused_client_that_sends_on_is_cut_off(site: Site) -> None:
    held = Held(site)
    with closing(connection_to(site)) as connection:
        connection.sendall(head(site, "/", "", "Transfer-Encoding: chunked"))
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            while True:
                connection.sendall(next(chunks()))
                held.look()
    assert held.most < MOST_HELD


def test_a_body_in_pieces_arrives_whole(site: Site) -> None:
    text = json.dumps({"unknown": "x" * (1 << 20)}).encode()
    with closing(connection_to(site)) as connection:
        connection.sendall(head(site, "/api/conversations", site.cookie, "Transfer-Encoding: chunked"))
        for start in range(0, len(text), 9000):
            part = text[start : start + 9000]
            connection.sendall(b"%x\r\n%s\r\n" % (len(part), part))
        connection.sendall(b"0\r\n\r\n")
        status, _, answer = answer_of(connection)
    assert (status, answer["error"]["field"]) == (400, "unknown")
