"""Real receivers on this machine: a web server and a mail server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Event, Thread
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.ports import free_port
from webapp.environment import EmailServer

INTERNAL = "localhost"


@dataclass
class Received:
    """One posted webhook."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """A web server that answers with these statuses, one after the other, and at last with 200."""

    port: int = 0
    statuses: list[int] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{INTERNAL}:{self.port}/hook?token=hidden"


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    """A receiver on an internal host, which the environment allows."""
    made = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            made.received.append(Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            status = made.statuses.pop(0) if made.statuses else 200
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("location", f"http://{INTERNAL}:{made.port}/elsewhere")
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.port = server.server_port
    thread = Thread(target=server.serve_forever)
    thread.start()
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, webhook_hosts=[INTERNAL])
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def dripping() -> Iterator[int]:
    """The port of a server that sends a header now and then, and ends no answer."""
    is_over = Event()

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            with suppress(OSError):
                while not is_over.wait(0.05):
                    self.wfile.write(b"x: y\r\n")

    server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    is_over.set()
    server.shutdown()
    thread.join()
    server.server_close()


class Inbox(Message):
    """Keeps what the mail server takes. It refuses the recipient nobody@example.org."""

    def __init__(self) -> None:
        super().__init__(EmailMessage)
        self.messages: list[Any] = []

    async def handle_RCPT(self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any) -> str:
        if address == "nobody@example.org":
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    def handle_message(self, message: Any) -> None:
        self.messages.append(message)


@pytest.fixture
def inbox(settings: Any) -> Iterator[Inbox]:
    """A mail server that the product is set up with."""
    box = Inbox()
    port = free_port()
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    email = EmailServer("127.0.0.1", port, "", "", "", "alerts@example.org")
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, email=email)
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = email.host, port
    yield box
    controller.stop()


@pytest.fixture
def operator() -> Client:
    """An operator with the permissions that alerts need."""
    user = User.objects.create_user("olive")
    names = ("view_usagerecord", "change_alertrule")
    user.user_permissions.add(*Permission.objects.filter(codename__in=names))
    client = Client()
    client.force_login(user)
    return client
