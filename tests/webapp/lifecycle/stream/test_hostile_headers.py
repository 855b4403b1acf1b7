"""Hostile heads over real sockets at the API's address: refused or cut off, and the next client is answered."""

from __future__ import annotations

import socket
from contextlib import closing

import httpx
import pytest

from tests.webapp.lifecycle.stream.conftest import Site

pytestmark = pytest.mark.slow
PATH = "/v1/chat/completions"
HEADS = {
    "a key of 100 kB": b"x-api-key: sg-" + b"a" * 100_000,
    "a header's name of 100 kB": b"x-" + b"a" * 100_000 + b": 1",
    "100 kB in small headers": b"\r\n".join(b"x-%d: " % number + b"a" * 90 for number in range(1000)),
    "a header in a key": b"x-api-key: sg-a\r\nX-Evil: 1",
    "a line feed in a key": b"x-api-key: sg-a\nX-Evil: 1",
    "a return in a key": b"x-api-key: sg-a\rX-Evil: 1",
    "a key in two lines": b"x-api-key: sg-a\r\n b",
    "a NUL in a key": b"x-api-key: sg-\x00",
    "bytes of no text in a key": b"authorization: Bearer \xff\xfe\x80",
    "two keys of one name": b"x-api-key: sg-a\r\nx-api-key: sg-b",
    "no name": b": 1",
    "a name with a space": b"x api key: 1",
    "no colon": b"x-api-key",
    "two lengths": b"Content-Length: 2\r\nContent-Length: 200",
    "a length and pieces": b"Transfer-Encoding: chunked",
    "a negative length": b"Content-Length: -1",
    "a huge length": b"Content-Length: " + b"9" * 400,
    "a name that is no name of the site": b"Host: evil.example",
}


def status_of(site: Site, lines: bytes) -> int | None:
    """None: the server closed the connection without an answer."""
    host, port = site.host.split(":")
    with closing(socket.create_connection((host, int(port)), timeout=60)) as connection:
        names = b"" if b"Host:" in lines else f"Host: {site.host}\r\n".encode()
        length = b"" if b"Length:" in lines else b"Content-Length: 2\r\n"
        head = b"POST " + PATH.encode() + b" HTTP/1.1\r\n" + names + length + b"Connection: close\r\n"
        try:
            connection.sendall(head + lines + b"\r\n\r\n{}")
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        except ConnectionError:
            return None
    assert b"evil" not in answer.partition(b"\r\n\r\n")[0].lower()
    return int(answer.split()[1]) if answer else None


@pytest.mark.parametrize("kind", HEADS)
def test_a_hostile_head_is_refused_and_the_next_client_is_answered(site: Site, kind: str) -> None:
    status = status_of(site, HEADS[kind])
    assert status is None or 400 <= status < 500
    assert httpx.get(f"http://{site.host}/healthz", timeout=60).status_code == 200
