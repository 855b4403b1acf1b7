"""A server that answers in another form than the protocol's ends its session in words."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.processes import wait_until_gone
from tests.webapp.tools.mcpclient.conftest import Configured, operator, wire
from tests.webapp.tools.mcpclient.test_calling import UNKNOWN
from webapp.tools.mcpclient import relay
from webapp.tools.mcpclient.approvals import approve
from webapp.tools.mcpclient.calling import CallFailed, call
from webapp.tools.mcpclient.configured import servers
from webapp.tools.mcpclient.models import McpServer, McpTool
from webapp.tools.mcpclient.reading import read

JSON = {"Content-Type": "application/json"}
SSE = {"Content-Type": "text/event-stream"}
UNKNOWN_METHOD = {"code": -32601, "message": "no such method"}
NESTED = b'{"jsonrpc": "2.0", "id": 1, "result": ' + b'{"a": ' * 100_000 + b"1" + b"}" * 100_001


class Liar(ThreadingHTTPServer):
    """Answers every message in the same way, or all messages before a call as it should."""

    status = 200
    headers: dict[str, str]
    body: bytes
    is_honest_before_calls = False

    def answer(self, asked: dict[str, Any]) -> Answer:
        if self.is_honest_before_calls and asked["method"] != "tools/call":
            return honest(asked)
        body = self.body.replace(b"ID", json.dumps(asked.get("id")).encode())
        return Answer(self.status, self.headers, body)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


def honest(asked: dict[str, Any]) -> Answer:
    info = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "l", "version": "1"}}
    results = {"initialize": info, "tools/list": {"tools": [wire("echo")]}}
    if "id" not in asked:
        return Answer(202, {}, b"")
    found = {"result": results[asked["method"]]} if asked["method"] in results else {"error": UNKNOWN_METHOD}
    return Answer(200, JSON, json.dumps({"jsonrpc": "2.0", "id": asked["id"]} | found).encode())


class Handler(BaseHTTPRequestHandler):
    server: Liar

    def do_POST(self) -> None:
        asked: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.server.answer(asked)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def liar(configured: Configured) -> Iterator[Liar]:
    with Liar(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        configured({"liar": {"url": f"http://127.0.0.1:{server.server_port}/mcp"}})
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (JSON | {"Content-Encoding": "gzip"}, gzip.compress(b" " * (64 << 20))),
        (JSON, b"\xff\xfe"),
        (JSON, b"[]"),
        (JSON, NESTED),
        (JSON, b'{"jsonrpc": "2.0", "id": ID, "result": {"tools": "none"}}'),
        (JSON, b'{"jsonrpc": "2.0", "id": ID, "result": 7}'),
        ({"Content-Type": "text/html"}, b"<h1>Hello</h1>"),
        ({"Content-Type": "text/event-stream"}, b"data: nonsense\n\n"),
        ({"Content-Type": "text/event-stream"}, b"data: " + b"x" * (5 << 20)),
        ({}, b""),
    ],
)
def test_an_answer_of_another_form_is_an_error_in_words(liar: Liar, headers: dict[str, str], body: bytes) -> None:
    liar.headers, liar.body = headers, body
    read(servers()["liar"])
    error = McpServer.objects.get().error
    assert error.startswith("The MCP server liar ") and "gave no answer within" not in error and len(error) < 700
    assert McpTool.objects.count() == 0


def fails(code: int) -> bytes:
    return b'{"jsonrpc": "2.0", "id": ID, "error": {"code": %d, "message": "not so"}}' % code


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("status", "headers", "body", "words"),
    [
        (500, {}, b"", "gave an error"),
        (403, {"Content-Type": "text/html"}, b"<h1>No</h1>", "gave an error"),
        (302, {"Location": "http://127.0.0.1:1/"}, b"", "gave an error"),
        (202, {}, b"", "gave an error"),
        (200, JSON, b"[]", "gave an error"),
        (200, {"Content-Type": "text/html"}, b"<h1>Hello</h1>", "gave an error"),
        (200, SSE, b": nothing\n\n", "ended before it answered"),
        (200, JSON, fails(-32603), "gave an error: not so"),
        (200, JSON, fails(-32000), "not so"),
    ],
)
def test_a_fault_after_a_call_leaves_its_effect_unknown(
    liar: Liar, status: int, headers: dict[str, str], body: bytes, words: str
) -> None:
    told = failed_call(liar, status, headers, body)
    assert words in told and told.endswith(UNKNOWN) and "refused" not in told


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("status", "code"), [(200, -32602), (400, -32602), (404, -32601)])
def test_a_refused_call_had_no_effect(liar: Liar, status: int, code: int) -> None:
    assert failed_call(liar, status, JSON, fails(code)) == "The MCP server liar refused: not so."


def failed_call(liar: Liar, status: int, headers: dict[str, str], body: bytes) -> str:
    """Call an approved tool and return the error."""
    liar.is_honest_before_calls = True
    liar.status, liar.headers, liar.body = status, headers, body
    read(servers()["liar"])
    approve(McpTool.objects.get(), operator().pk)
    with pytest.raises(CallFailed) as failed:
        call(McpTool.objects.get(), {})
    return str(failed.value)


@pytest.mark.django_db(transaction=True)
def test_a_compressed_answer_is_not_unpacked(liar: Liar) -> None:
    liar.headers, liar.body = JSON | {"Content-Encoding": "gzip"}, gzip.compress(b"{}")
    read(servers()["liar"])
    assert McpServer.objects.get().error.endswith("or a compressed answer.")


def relayed(script: str, most_s: int) -> subprocess.Popen[bytes]:
    arguments = [str(Path(relay.__file__)), "1000", str(most_s), "sh", "-c", script]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def test_a_program_whose_client_is_gone_ends_by_the_clock() -> None:
    with relayed("echo $$; exec sleep 3600", most_s=3) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.wait()
    wait_until_gone(pid)


@pytest.mark.parametrize(
    ("then", "is_read"),
    [("exit", True), ("exec yes", True), ("while sleep 0.01; do echo; done", False)],
    ids=["it ends by itself", "it floods", "its client no longer reads"],
)
def test_all_processes_of_a_program_end_with_it(then: str, is_read: bool) -> None:
    with relayed(f"sleep 3600 > /dev/null & echo $!; read _; {then}", most_s=300) as process:
        assert process.stdin is not None and process.stdout is not None
        pid = int(process.stdout.readline())
        process.stdin.write(b"go on\n")
        process.stdin.flush()
        if is_read:
            process.stdout.read()
    wait_until_gone(pid)
