"""Peak memory with 8 streams: the largest resident set of a process from its start to the end of the work.

The work is that of the decode benchmark. Each side is a process of its own, started anew for every round; ours after
the weights were converted once, as at any start but the first. The peer has 8 slots of 512 tokens; the smaller of its
builds is the peer. Resident memory counts files that are mapped, on both sides. Ours is stated part by part.

    python -m benchmarks.memory
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.llama_server import Build, LlamaServer, builds
from benchmarks.rows import Measure, Question, compared, take_turns, write

NUM_STREAMS = 8
NUM_ROUNDS = 3
TARGET = 3.0


def resident_mb(field: str, pid: int | str = "self") -> float:
    """VmRSS (now), RssFile (its part of mapped files) or VmHWM (at most so far) of a process, in MB."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    (kib,) = re.findall(rf"^{field}:\s+(\d+) kB", status, re.MULTILINE)
    return int(kib) * 1024 / 1e6


def measure_ours() -> dict[str, float]:
    """In a fresh process: resident memory as it grows, in MB."""
    marks = {"Python": resident_mb("VmRSS")}
    from benchmarks.decode import NUM_DECODED, NUM_PROMPT_TOKENS
    from benchmarks.ours import Ours
    from benchmarks.setting import NUM_CANDIDATES, kv_bytes_per_token, prompt, tokenizer

    marks["libraries"] = resident_mb("VmRSS")
    ids = prompt(NUM_PROMPT_TOKENS)
    assert tokenizer()
    marks["tokenizer"] = resident_mb("VmRSS")
    ours = Ours()
    marks["weights"], mapped = resident_mb("VmRSS"), resident_mb("RssFile")
    ours.decode_rate(NUM_STREAMS, ids, NUM_DECODED, NUM_CANDIDATES)
    marks["peak"] = resident_mb("VmHWM")
    marks["weights in their file"] = resident_mb("RssFile") - mapped
    marks["keys and values"] = NUM_STREAMS * (NUM_PROMPT_TOKENS + NUM_DECODED) * kv_bytes_per_token() / 1e6
    return marks


def parts(marks: dict[str, float]) -> dict[str, float]:
    """What the peak consists of, in MB; the parts' sum is the peak.

    All else: logits, sampling, records, and what the allocators keep; of a peak during the start, what loading takes.
    """
    stages = ["Python", "libraries", "tokenizer", "weights"]
    grown = {name: marks[name] - marks.get(before, 0.0) for before, name in zip(["", *stages], stages, strict=False)}
    of_work = {name: marks[name] for name in ("weights in their file", "keys and values")}
    rest = marks["peak"] - marks["weights"] - sum(of_work.values())
    return grown | of_work | {"all else at the peak": rest}


def ours_mb(last: dict[str, float]) -> float:
    """Peak of a fresh process; its parts are left in `last`."""
    command = [sys.executable, "-m", "benchmarks.memory", "ours"]
    marks = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
    last.clear()
    last.update(parts(marks))
    return float(marks["peak"])


def peer_mb(build: Build) -> float:
    from benchmarks.decode import NUM_DECODED, NUM_PROMPT_TOKENS, SLOT_WINDOW
    from benchmarks.setting import MODEL, NUM_THREADS, prompt

    with LlamaServer(MODEL, NUM_THREADS, build, NUM_STREAMS, SLOT_WINDOW) as server:
        server.complete_all(NUM_STREAMS, prompt(NUM_PROMPT_TOKENS), NUM_DECODED)
        return resident_mb("VmHWM", server.pid)


def run() -> list[dict[str, Any]]:
    last: dict[str, float] = {}
    sides: dict[str, Measure] = {"ours": partial(ours_mb, last)}
    sides |= {build: partial(peer_mb, build) for build in builds()}
    samples = take_turns(sides, NUM_ROUNDS)
    note = ", ".join(f"{name} {size:.0f}" for name, size in last.items())
    question = Question(f"Peak memory, {NUM_STREAMS} streams", TARGET, "MB", is_more_better=False, digits=0)
    return [compared(question, samples, note)]


if __name__ == "__main__":
    if sys.argv[1:] == ["ours"]:
        print(json.dumps(measure_ours()))
    else:
        write("memory", run())
