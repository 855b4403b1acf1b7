"""llama.cpp's own server (the xllamacpp wheel) in a process of its own, for the tests of the remote back end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx

KEY = "sk-known-only-to-the-tests"
WINDOW = 512
"""Per slot."""
_SERVE = """
import sys
import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.n_parallel, params.port = int(sys.argv[2]) * 2, 2, 0
params.api_keys = [sys.argv[3]]
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


class LlamaServer:
    """A running server with two slots."""

    def __init__(self, model: Path) -> None:
        command = [sys.executable, "-c", _SERVE, str(model), str(WINDOW), KEY]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        assert self._process.stdout is not None
        self.url = next(line.strip() for line in self._process.stdout if line.startswith("http://"))
        self.client = httpx.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {KEY}"}, timeout=240, trust_env=False
        )

    def complete(self, ids: list[int], num_tokens: int) -> dict[str, object]:
        """What the server itself answers, greedily and in one piece, in its own API."""
        body = {"prompt": ids, "n_predict": num_tokens, "temperature": 0, "return_tokens": True, "cache_prompt": False}
        found: dict[str, object] = self.client.post("/completion", json=body).raise_for_status().json()
        return found

    def is_busy(self) -> bool:
        """Whether any slot is at work."""
        return any(slot["is_processing"] for slot in self.client.get("/slots").raise_for_status().json())

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def kill(self) -> None:
        self.client.close()
        self._process.kill()
        self._process.wait(10)
