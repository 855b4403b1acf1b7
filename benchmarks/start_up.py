"""Warm start: from a new process to its first token, with all on disk that an earlier start keeps.

Ours is what an inference worker loads: its libraries, tokenizer, classifier, weights, kernels, and a short prompt's
first token; without Redis. The peer is llama.cpp's server from its start to the first token of the same prompt.

    python -m benchmarks.start_up
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from typing import Any

from benchmarks.llama_server import Build, LlamaServer, builds
from benchmarks.rows import Measure, Question, compared, take_turns, write

NUM_PROMPT_TOKENS = 40
TARGET_S = 3.0
NUM_ROUNDS = 5
_ENVIRONMENT = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
"""The first round leaves bytecode on disk, as a user's first start does."""


def serve_once() -> None:
    """In a fresh process: load all and compute one token."""
    import inference.worker.app  # noqa: F401 - what a worker imports
    from benchmarks.ours import Ours
    from benchmarks.setting import prompt
    from inference.models.weights.packed_cache import PackedCache
    from inference.safety import load_guard
    from inference.worker.settings import read_settings

    settings = read_settings()
    load_guard(settings.policy_path, keep=PackedCache(settings.weights_path).load_or_build)
    Ours().time_to_first_token(prompt(NUM_PROMPT_TOKENS))


def ours_s() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "benchmarks.start_up", "ours"], check=True, env=_ENVIRONMENT)
    return time.perf_counter() - start


def peer_s(build: Build) -> float:
    from benchmarks.setting import MODEL, NUM_THREADS, prompt

    start = time.perf_counter()
    with LlamaServer(MODEL, NUM_THREADS, build) as server:
        server.complete(prompt(NUM_PROMPT_TOKENS), 1)
        return time.perf_counter() - start


def run() -> list[dict[str, Any]]:
    sides: dict[str, Measure] = {"ours": ours_s} | {build: partial(peer_s, build) for build in builds()}
    question = Question("Warm start to the first token", TARGET_S, "s", False, target_unit=" s", digits=2)
    return [compared(question, take_turns(sides, NUM_ROUNDS))]


if __name__ == "__main__":
    if sys.argv[1:] == ["ours"]:
        serve_once()
    else:
        write("start_up", run())
