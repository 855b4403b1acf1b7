"""llama.cpp's own server in a process of its own, as the peer of the benchmarks, in two builds.

`wheel` is the xllamacpp wheel, built for any x86-64 with AVX2; `native` is what `python -m benchmarks.build_peer` made
for this CPU. Both batch continuously over their slots, keep no cache of prompts, and are at their defaults otherwise.

python -m benchmarks.llama_server SETTINGS_JSON     serves from the wheel until it is terminated
"""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Self

from benchmarks.build_peer import native_server

Build = Literal["wheel", "native"]
_START_TIMEOUT_S = 60


def builds() -> list[Build]:
    """The builds there are on this machine, the wheel first."""
    if native_server() is None:
        print("only the wheel: `python -m benchmarks.build_peer` builds the peer for this CPU", file=sys.stderr)
        return ["wheel"]
    return ["wheel", "native"]


@dataclass(frozen=True)
class Settings:
    """How the server is started; the window is each slot's."""

    model: str
    num_threads: int
    num_slots: int
    window: int
    batch: int
    port: int


class LlamaServer:
    """A running server; use as a context manager."""

    def __init__(
        self,
        model: Path,
        num_threads: int,
        build: Build = "wheel",
        num_slots: int = 1,
        window: int = 2048,
        batch: int = 2048,
    ) -> None:
        """The window is each slot's; a step computes at most `batch` tokens of prompts and answers together."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        settings = Settings(str(model), num_threads, num_slots, window, batch, self._port)
        command = _native_command(settings) if build == "native" else _wheel_command(settings)
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._pool = ThreadPoolExecutor(num_slots)
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise SystemExit("llama.cpp's server did not start")
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)
        self._pool.shutdown()

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == http.client.OK
        except OSError:
            return False
        finally:
            connection.close()

    def complete(self, ids: list[int], num_tokens: int, num_probs: int = 0, is_streamed: bool = False) -> Completion:
        """Greedy continuation of a prompt of token ids, never ended by a stop token nor helped by a cache.

        Streamed, each token comes with its time by the server's own clock; all is read before any of it is parsed.
        """
        body = {
            "prompt": ids,
            "n_predict": num_tokens,
            "n_probs": num_probs,
            "temperature": 0,
            "ignore_eos": True,
            "cache_prompt": False,
            "stream": is_streamed,
            "timings_per_token": is_streamed,
        }
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=600)
        connection.request("POST", "/completion", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        lines = [line.removeprefix(b"data: ") for line in response]
        connection.close()
        assert response.status == http.client.OK, lines
        return Completion([json.loads(line) for line in lines if line.startswith(b"{")])

    def complete_all(self, num_streams: int, ids: list[int], num_tokens: int) -> list[Completion]:
        """The same request so many times at once."""
        return list(self._pool.map(lambda _: self.complete(ids, num_tokens), range(num_streams)))

    def decode_rate(self, num_streams: int, ids: list[int], num_tokens: int) -> float:
        """Tokens per second of all streams together: their own rates' sum, or by the wall clock where that is more."""
        start = time.perf_counter()
        completions = self.complete_all(num_streams, ids, num_tokens)
        elapsed = time.perf_counter() - start
        return max(sum(each.decode_rate for each in completions), num_streams * num_tokens / elapsed)

    def prefill_rate(self, ids: list[int]) -> float:
        """Prompt tokens per second."""
        return self.complete(ids, 1).prefill_rate


@dataclass(frozen=True)
class Completion:
    """One answer's chunks with the server's own timings."""

    chunks: list[dict[str, Any]]

    @property
    def reply(self) -> dict[str, Any]:
        """The last chunk; of an answer that was not streamed, all of it."""
        return self.chunks[-1]

    @property
    def decode_rate(self) -> float:
        """Tokens per second by the server's own clock, without HTTP and JSON."""
        return float(self.reply["timings"]["predicted_per_second"])

    @property
    def prefill_rate(self) -> float:
        """Prompt tokens per second by the server's own clock."""
        timings = self.reply["timings"]
        assert timings["cache_n"] == 0, "the peer took the prompt from its cache"
        return float(timings["prompt_per_second"])

    @property
    def token_gaps(self) -> list[float]:
        """Seconds between neighbouring tokens by the server's own clock."""
        times = {chunk["timings"]["predicted_n"]: chunk["timings"]["predicted_ms"] / 1000 for chunk in self.chunks}
        gaps = []
        for (before, start), (after, end) in pairwise(sorted(times.items())):
            gaps += [(end - start) / (after - before)] * (after - before)
        return gaps


def _native_command(settings: Settings) -> list[str]:
    options = {
        "--model": settings.model,
        "--ctx-size": settings.num_slots * settings.window,
        "--parallel": settings.num_slots,
        "--batch-size": settings.batch,
        "--threads": settings.num_threads,
        "--port": settings.port,
        "--cache-ram": 0,
    }
    flags = ["--no-kv-unified", "--no-webui", "--log-disable"]
    return [str(native_server()), *flags, *(str(part) for option in options.items() for part in option)]


def _wheel_command(settings: Settings) -> list[str]:
    return [sys.executable, "-m", "benchmarks.llama_server", json.dumps(asdict(settings))]


def serve(settings: Settings) -> None:
    """The wheel's server, until the process is terminated."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings.model
    params.n_ctx = settings.num_slots * settings.window
    params.n_parallel = settings.num_slots
    params.n_batch = settings.batch
    params.port = settings.port
    params.cache_ram_mib = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.num_threads
    server = xllamacpp.Server(params)
    assert server
    signal.pause()


if __name__ == "__main__":
    serve(Settings(**json.loads(sys.argv[1])))
