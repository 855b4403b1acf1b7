"""Commands of `manage.py` for one product, run by one process that stays: a start for each would take seconds.

`python -m tests.browser.commands` reads a command as a list in JSON from each line, and answers with a line.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Commands:
    """Starts its process at the first command."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment | {"DJANGO_SETTINGS_MODULE": "webapp.settings"}
        self._process: subprocess.Popen[str] | None = None

    def run(self, *command: str) -> str:
        """Return what the command printed. Fails as the command fails."""
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(command) + "\n")
        process.stdin.flush()
        reply = json.loads(process.stdout.readline())
        assert reply["error"] is None, (command, reply)
        return str(reply["printed"])

    def end(self) -> None:
        if self._process is not None:
            self._process.communicate()

    def _start(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.browser.commands"],
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self._process


def main() -> None:
    import django
    from django.core.management import call_command
    from django.db import connections

    django.setup()
    for line in sys.stdin:
        printed, error = StringIO(), None
        try:
            with redirect_stdout(printed), redirect_stderr(printed):
                call_command(*json.loads(line), stdout=printed)
        except (Exception, SystemExit) as failure:
            error = repr(failure)
        connections.close_all()
        print(json.dumps({"printed": printed.getvalue(), "error": error}), flush=True)


if __name__ == "__main__":
    main()
