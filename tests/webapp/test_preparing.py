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
# A thread gives way after each instruction, so that two are within msgspec at once.
RACES = """
import sys, threading
from contextlib import suppress
import msgspec

def below(kind):
    for each in kind.__subclasses__():
        yield each
        yield from below(each)

def race(kind):
    barrier = threading.Barrier(3)
    def decode():
        barrier.wait()
        with suppress(msgspec.ValidationError, TypeError):
            msgspec.json.decode(b"{}", type=kind)
    threads = [threading.Thread(target=decode) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

sys.setswitchinterval(1e-6)
kinds = list(dict.fromkeys(below(msgspec.Struct)))
for kind in kinds:
    race(kind)
print(len(kinds))
"""
STARTS = {
    "web": "import webapp.asgi",
    "lifecycle": "import webapp.celery as site; site.app.loader.import_default_modules(); site.prepare()",
    "agents": "import webapp.asgi, webapp.api.mcp.server",
}


@pytest.mark.parametrize("process", STARTS)
def test_structs_are_prepared_before_a_process_has_threads(process: str, tmp_path: Path) -> None:
    share_database(tmp_path)
    environment = os.environ | {"SIGHTGLASS_DATA": str(tmp_path)}
    command = [sys.executable, "-c", f"{STARTS[process]}{RACES}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 100
