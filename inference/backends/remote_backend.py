"""All requests at a server elsewhere, in one thread with an event loop. Knows nothing of Celery or of the log.

Every request has a connection of its own. Closing it tells the server to stop.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence

import httpx

from inference.backends.backend import AlreadyRunning, Description, Job
from inference.backends.remote_stream import Patience, RemoteStream
from inference.backends.server import Server, Vocabulary
from inference.backends.token_table import TokenTable
from inference.engine.step_output import StepOutput
from inference.protocol.request import FinishReason, GenerationRequest, StepCommand, Usage
from inference.protocol.snapshot import Work

logger = logging.getLogger(__name__)

_FLAGS_S = 0.05
"""Interval between reads of the cancel flags: a few tokens' time."""
_PULSE_S = 5
_PATIENCE = Patience()


class RemoteBackend(threading.Thread):
    """See backend.Backend. `cancelled` returns the requests to be stopped, and never waits for long."""

    def __init__(
        self,
        server: Server,
        vocabulary: Vocabulary,
        cancelled: Callable[[Sequence[str]], frozenset[str]],
        patience: Patience = _PATIENCE,
    ) -> None:
        super().__init__(name="remote", daemon=True)
        self._server = server
        self._vocabulary = vocabulary
        self._table = TokenTable(vocabulary)
        self._cancelled = cancelled
        self._patience = patience
        timeout = httpx.Timeout(None, connect=patience.connect_s)
        self._client = httpx.AsyncClient(timeout=timeout, **server.client_options)
        self._loop = asyncio.new_event_loop()
        self._jobs: dict[str, Job] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._streams: dict[str, RemoteStream] = {}
        self._num_ended_tokens = 0
        """Tokens received for requests that have ended."""
        self._endings: dict[str, FinishReason] = {}
        self._is_stopping = threading.Event()
        self._is_over = asyncio.Event()
        self._farewell = ""
        self._lock = threading.Lock()
        """Held while work is handed to the loop, so that the loop is not closed meanwhile."""

    @property
    def description(self) -> Description:
        return Description(quantization=self._server.quantization, server=self._server.name)

    @property
    def is_stopping(self) -> bool:
        return self._is_stopping.is_set()

    @property
    def num_running(self) -> int:
        """Return the number of requests whose end is still to come."""
        return len(self._jobs)

    @property
    def pulse(self) -> int:
        """Return the time in units of 5 s: each stream's own patience detects a server that is silent too long."""
        return int(time.monotonic() / _PULSE_S)

    def num_cached(self, ids: tuple[int, ...], principal: str, model: str) -> int | None:
        """Return None: no such server reports this before it generates."""
        return None

    def num_ahead(self, request_id: str) -> None:
        """Return None: the server does not report it."""

    def work(self) -> Work:
        """Return the requests at the server and the tokens received. The server does not tell the rest."""
        with self._lock:
            streams = list(self._streams.values())
            num_tokens = self._num_ended_tokens + sum(stream.num_tokens for stream in streams)
        return Work(
            num_running=len(streams),
            num_waiting=None,
            num_paused=0,
            num_prefill_tokens=None,
            num_decode_tokens=num_tokens,
            steps=None,
            blocks=None,
            cache=None,
            requests=tuple(stream.account() for stream in streams),
        )

    def submit(self, job: Job) -> None:
        """Any thread may call this. Raises AlreadyRunning."""
        request_id = job.request.request_id
        with self._lock:
            if running := self._jobs.get(request_id):
                raise AlreadyRunning(running.request)
            if self.is_stopping:
                job.outputs.put(StepOutput(request_id, [], Usage(), "error", self._farewell, code="worker_lost"))
                return
            self._jobs[request_id] = job
            self._loop.call_soon_threadsafe(self._start_stream, job)

    def finish(self, request: GenerationRequest, reason: FinishReason) -> None:
        """End this attempt of a request soon. Any thread may call this."""
        self._tell(lambda: self._finish(request, reason))

    def _finish(self, request: GenerationRequest, reason: FinishReason) -> None:
        job = self._jobs.get(request.request_id)
        if job is not None and job.request.attempt == request.attempt:
            self._end(request.request_id, reason)

    def take(self, request_id: str, command: StepCommand) -> None:
        """Do nothing: step-mode requests are refused."""

    def stop(self, message: str) -> None:
        """End all requests with an error and stop the thread. Any thread may call this."""
        with self._lock:
            if self.is_stopping:
                return
            self._farewell = message
            self._is_stopping.set()
            self._loop.call_soon_threadsafe(self._is_over.set)

    def _tell(self, action: Callable[[], None]) -> None:
        with self._lock:
            if not self.is_stopping:
                self._loop.call_soon_threadsafe(action)

    def run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        async with self._client:
            flags = asyncio.create_task(self._read_flags())
            await self._is_over.wait()
            flags.cancel()
            for task in list(self._tasks.values()):
                task.cancel()
            await asyncio.gather(flags, *self._tasks.values(), return_exceptions=True)
            await asyncio.sleep(0)  # for the last tasks' callbacks, which deliver the ends

    async def _read_flags(self) -> None:
        while True:
            await asyncio.sleep(_FLAGS_S)
            if self._tasks:
                for request_id in self._cancelled(list(self._tasks)):
                    self._end(request_id, "abort")

    def _start_stream(self, job: Job) -> None:
        request_id = job.request.request_id
        stream = RemoteStream(job, self._server, self._vocabulary, self._table, self._patience)
        with self._lock:
            self._streams[request_id] = stream
        task = asyncio.create_task(stream.run(self._client))
        self._tasks[request_id] = task
        task.add_done_callback(lambda done: self._on_done(request_id, stream, done))

    def _end(self, request_id: str, reason: FinishReason) -> None:
        if task := self._tasks.get(request_id):
            self._endings.setdefault(request_id, reason)
            task.cancel()

    def _on_done(self, request_id: str, stream: RemoteStream, task: asyncio.Task[None]) -> None:
        """Deliver a stream's one end if it has not: one from outside, or that of an error in our own code."""
        with self._lock:
            del self._jobs[request_id]
            del self._streams[request_id]
            self._num_ended_tokens += stream.num_tokens
        del self._tasks[request_id]
        reason = self._endings.pop(request_id, None)
        if task.cancelled():
            if reason is None:
                stream.fail("worker_lost", self._farewell)
            else:
                stream.end(reason)
        elif error := task.exception():
            logger.error("reading the answer of %s failed", request_id, exc_info=error)
            stream.fail("internal", "The inference worker failed; its log has the details.")
