"""llama.cpp's own server (the xllamacpp wheel) in a process of its own, as the peer of the benchmarks.

python -m benchmarks.llama_server MODEL.gguf NUM_THREADS     serves until its stdin closes
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

WINDOW = 2048


class LlamaServer:
    """A running server; use as a context manager."""

    def __init__(self, model: Path, num_threads: int) -> None:
        command = [sys.executable, "-m", "benchmarks.llama_server", str(model), str(num_threads)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._client = httpx.Client(base_url=self._address(), timeout=300, trust_env=False)

    def _address(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("http://"):
                return line.strip()
        raise SystemExit("llama.cpp's server stopped before it listened")

    def __enter__(self) -> LlamaServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)

    def complete(self, ids: list[int], num_tokens: int, num_probs: int = 0) -> Completion:
        """Greedy continuation of a prompt of token ids, never ended by a stop token nor helped by a cache."""
        body = {
            "prompt": ids,
            "n_predict": num_tokens,
            "n_probs": num_probs,
            "temperature": 0,
            "ignore_eos": True,
            "cache_prompt": False,
        }
        reply = self._client.post("/completion", json=body)
        reply.raise_for_status()
        return Completion(reply.json())


@dataclass(frozen=True)
class Completion:
    """One answer with the server's own timings."""

    reply: dict[str, Any]

    @property
    def decode_rate(self) -> float:
        """Tokens per second by the server's own clock, without HTTP and JSON."""
        return float(self.reply["timings"]["predicted_per_second"])

    @property
    def prefill_rate(self) -> float:
        """Prompt tokens per second by the server's own clock."""
        assert self.reply["timings"]["cache_n"] == 0, "the peer took the prompt from its cache"
        return float(self.reply["timings"]["prompt_per_second"])


def serve(model: str, num_threads: int) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = WINDOW
    params.n_parallel = 1
    params.port = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = num_threads
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
