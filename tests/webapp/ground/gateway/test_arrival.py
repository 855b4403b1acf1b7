"""Deadlines of a request's arrival, on a clock of the test's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from daphne.server import Server
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from webapp.api.families.refusals import refused
from webapp.ground.gateway.arrival import BODY_S, HEAD_S, LINGER_S, BoundedFactory, Channel

REQUEST_LINE = b"POST /api/conversations HTTP/1.1\r\n"
HEAD = REQUEST_LINE + b"Host: localhost\r\nContent-Length: 60000\r\n\r\n"


class Wire(StringTransport):
    """A TCP connection whose client goes on reading after the server's last byte."""

    def loseWriteConnection(self) -> None:
        self.is_ended = True


class Site:
    """A connection to a server whose application answers 204 at once."""

    def __init__(self) -> None:
        self.clock, self.wire = Clock(), Wire()
        server = Server(None, endpoints=["tcp:0"])
        server.connections = {}
        self.channel: Channel = BoundedFactory(server, most_bytes, refused).buildProtocol(None)
        self.channel.callLater = self.clock.callLater
        self.channel.makeConnection(self.wire)

    def drip(self, data: bytes, seconds: float) -> None:
        """Send a byte each second, for so long."""
        for second in range(int(seconds)):
            self.channel.dataReceived(data[second : second + 1])
            self.clock.advance(1)


async def most_bytes(_path: str, _headers: Mapping[str, str]) -> int:
    return 1 << 20


@pytest.fixture
def site() -> Site:
    return Site()


def refusal(site: Site) -> Any:
    head, _, body = site.wire.value().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"\r\nConnection: close" in head
    return json.loads(body)["error"]["code"]


def test_headers_that_drip_are_refused_after_their_deadline(site: Site) -> None:
    site.channel.dataReceived(REQUEST_LINE)
    site.drip(b"X-Slow: " + b"x" * 100, HEAD_S - 1)
    assert not site.wire.value()
    site.clock.advance(1)
    assert refusal(site) == "too_slow"
    site.clock.advance(LINGER_S)
    assert site.wire.disconnected


def test_a_body_that_drips_is_refused_after_its_deadline(site: Site) -> None:
    site.channel.dataReceived(HEAD)
    site.drip(b"x" * 100, BODY_S - 1)
    assert not site.wire.value()
    site.clock.advance(1)
    assert refusal(site) == "too_slow"


def test_a_first_line_that_drips_ends_the_connection(site: Site) -> None:
    site.drip(b"GET /" + b"x" * 1000, site.channel.factory.timeOut)
    assert site.wire.disconnecting
    assert not site.wire.value()
