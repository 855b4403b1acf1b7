"""A real llama.cpp server, a server that misbehaves as told, and requests for either."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from inference.backends.backend import Job
from inference.backends.remote_backend import RemoteBackend
from inference.backends.remote_stream import Patience
from inference.backends.server import Server
from inference.engine.step_output import StepOutput
from inference.eventlog.clock import RequestClock, unix_us
from inference.protocol.events import TokenSampled
from inference.protocol.request import GenerationRequest, SamplingParams
from inference.tokenization.tokenizer import Tokenizer
from tests.inference.backends.llama_server import LlamaServer


@pytest.fixture(scope="module")
def llama(model_path: Path) -> Iterator[LlamaServer]:
    server = LlamaServer(model_path)
    yield server
    server.kill()


class Flags:
    """Cancel flags that a test sets."""

    def __init__(self) -> None:
        self.ids: set[str] = set()

    def __call__(self, request_ids: Sequence[str]) -> frozenset[str]:
        return frozenset(self.ids.intersection(request_ids))


@pytest.fixture
def flags() -> Flags:
    return Flags()


Start = Callable[..., RemoteBackend]


@pytest.fixture
def start(tokenizer: Tokenizer, flags: Flags) -> Iterator[Start]:
    """Starts back ends, and sees to it that none leaves anything behind."""
    started: list[RemoteBackend] = []

    def build(server: Server, **patience: float) -> RemoteBackend:
        started.append(RemoteBackend(server, tokenizer, flags, Patience(**patience)))
        started[-1].start()
        return started[-1]

    yield build
    for backend in started:
        backend.stop("over")
        backend.join(5)
        assert not backend.is_alive()
        assert backend.num_running == 0


def job(tokenizer: Tokenizer, request_id: str = "a", prompt: str = "Once upon a time", **params: object) -> Job:
    settings: dict[str, object] = {"temperature": 0, "max_tokens": 12} | params
    request = GenerationRequest(
        request_id=request_id,
        attempt=1,
        model="smollm2",
        prompt_ids=tuple(tokenizer.encode(prompt)),
        params=SamplingParams(**settings),  # type: ignore[arg-type]
        accepted_unix_us=unix_us(),
        principal="user:1",
        num_candidates=5,
    )
    return Job(request, tokenizer.eos_ids, RequestClock(request.accepted_unix_us))


def outputs_of(job: Job) -> list[StepOutput]:
    """All of them; the last one, and no other, has a finish reason."""
    found = [job.outputs.get(timeout=120)]
    while found[-1].finish_reason is None:
        found.append(job.outputs.get(timeout=120))
    assert job.outputs.empty()
    return found


def tokens_of(outputs: list[StepOutput]) -> list[TokenSampled]:
    return [event for output in outputs for event in output.events if isinstance(event, TokenSampled)]


def refusal_of(job: Job) -> StepOutput:
    end = outputs_of(job)[-1]
    assert end.finish_reason == "error"
    return end


class Script:
    """What a misbehaving server does; the last request that it got."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.body: dict[str, Any] = {}
        self.headers: dict[str, str] = {}
        self.is_closed = threading.Event()
        """The client has closed a connection that was waiting."""

    def json(self, path: str, document: object, status: int = 200) -> None:
        """Answer with a document."""
        data = json.dumps(document).encode()

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)

        self.answers[path] = answer

    def stream(self, *events: bytes, ends: str = "well") -> None:
        """Stream a completion, then end it `well`, `wait` for the client to close, or `break` the connection.

        A client may close while it is still being written to; what waits for that is told so then, too.
        """

        def answer(handler: BaseHTTPRequestHandler) -> None:
            with contextlib.suppress(ConnectionError):
                handler.send_response(200)
                handler.send_header("Transfer-Encoding", "chunked")
                handler.end_headers()
                for event in events:
                    handler.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
                if ends == "well":
                    handler.wfile.write(b"0\r\n\r\n")
                elif ends == "wait":
                    handler.rfile.read(1)
            if ends == "wait":
                self.is_closed.set()

        self.answers["/v1/completions"] = answer


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def stub(script: Script) -> Iterator[str]:
    """The URL of a server that follows the script."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            script.headers = dict(self.headers)
            script.answers.get(self.path, lambda each: each.send_error(404))(self)
            self.close_connection = True

        def do_POST(self) -> None:
            script.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
