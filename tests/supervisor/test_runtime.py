"""A killed product leaves its runtime folder behind, and the next start removes it; a running one's stays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from webapp.operations.supervisor.runtime import PREFIX, RuntimeFolder

_HOLD = """
import sys
from webapp.operations.supervisor.runtime import RuntimeFolder
folder = RuntimeFolder(sys.argv[1])
(folder.path / "redis.sock").write_text("")
print(folder.path, flush=True)
sys.stdin.read()
"""


def start(place: Path) -> tuple[subprocess.Popen[str], Path]:
    command = [sys.executable, "-c", _HOLD, str(place)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_the_folder_of_a_killed_product_goes_and_that_of_a_running_one_stays(tmp_path: Path) -> None:
    (other := tmp_path / f"{PREFIX}of-another-program").mkdir()
    killed, left = start(tmp_path)
    running, used = start(tmp_path)
    killed.kill()
    killed.communicate()
    own = RuntimeFolder(str(tmp_path))
    assert not left.exists()
    assert sorted(tmp_path.iterdir()) == sorted([other, used, own.path])
    running.communicate("")
    assert running.returncode == 0
