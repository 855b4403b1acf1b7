"""llama.cpp's own server (the xllamacpp wheel), on one thread: its threads wait for each other busily."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

_SERVER = """
import sys, signal, xllamacpp as x
p = x.CommonParams(); p.model.path = sys.argv[1]; p.n_ctx = 512; p.port = 0; p.use_jinja = True; p.warmup = False
p.n_parallel = int(sys.argv[3])
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
if sys.argv[2] == "float":
    p.cache_type_k = p.cache_type_v = x.ggml_type.GGML_TYPE_F32
    p.flash_attn_type = x.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
s = x.Server(p); print(s.listening_address, flush=True); sys.stdin.read()
"""


@contextmanager
def llama_cpp(model: Path, is_float: bool = False, num_slots: int = 1) -> Iterator[httpx.Client]:
    """A client of a new server. is_float: keys, values and attention in float32 too; by default they are float16, by
    its flash attention. num_slots: requests that it computes at once; they share a context of 512 tokens."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(model), "float" if is_float else "default", str(num_slots)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = next(line for line in process.stdout if line.startswith("http")).strip()
        with httpx.Client(base_url=address, timeout=240, trust_env=False) as client:
            yield client
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
