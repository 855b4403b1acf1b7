"""Threads that decode the same struct for the first time at once do not end the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.environment import share_database

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
# Threads give way after each instruction, so that two are within msgspec at once. Each attempt is a fresh copy of the
# process: without preparation half of them end by SIGSEGV.
RACES = """
import os, sys, threading
import msgspec
from webapp.api.anthropic.shapes import MessageBody
from webapp.api.openai.shapes import ChatBody

BODY = b'{"model": "m", "max_tokens": 3, "messages": [{"role": "user", "content": "Hi"}]}'

def race(kind):
    barrier = threading.Barrier(8)
    def decode():
        barrier.wait()
        msgspec.json.decode(BODY, type=kind)
    threads = [threading.Thread(target=decode) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

for _ in range(25):
    child = os.fork()
    if child == 0:
        sys.setswitchinterval(1e-6)
        race(MessageBody)
        race(ChatBody)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, "an attempt was ended by a signal"
"""
STARTS = {
    "web": "import webapp.asgi",
    "lifecycle": "import webapp.celery as site; site.app.loader.import_default_modules(); site.prepare()",
}


@pytest.mark.parametrize("process", STARTS)
def test_structs_are_prepared_before_a_process_has_threads(process: str, tmp_path: Path) -> None:
    share_database(tmp_path)
    environment = os.environ | {"SIGHTGLASS_DATA": str(tmp_path)}
    command = [sys.executable, "-c", f"{STARTS[process]}{RACES}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
