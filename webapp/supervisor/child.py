"""One child process that cannot outlive the supervisor. Knows nothing of its program."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1


class Child:
    """A named process with its own log file and process group."""

    def __init__(self, name: str, command: Sequence[str | Path], log_path: Path, env: dict[str, str]) -> None:
        self.name = name
        self.log_path = log_path
        libc = ctypes.CDLL(None)
        parent = os.getpid()

        def die_with_parent() -> None:  # in the child, between fork and exec
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:  # the parent died before the line above
                os._exit(1)

        if log_path.exists():  # the previous run's log may hold the reason for its end
            log_path.replace(log_path.with_suffix(".log.1"))
        with log_path.open("wb") as log:
            self._process = subprocess.Popen(
                list(map(str, command)),
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=env,
                process_group=0,
                preexec_fn=die_with_parent,  # noqa: PLW1509 (no threads run in the supervisor)
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        return self._process.poll()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the whole group, so that grandchildren get it too."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def wait(self, timeout_s: float) -> bool:
        """Wait for the end; False after the timeout."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def ending(self) -> str:
        """The exit status with the log's last line, or the signal: a killed process had no time to log."""
        status = self.exit_status
        assert status is not None
        if status < 0:
            return f"was ended by {signal.Signals(-status).name}"
        return f"ended ({status}): {self.last_line()}"

    def last_line(self) -> str:
        """The log's last line, usually the reason for the exit."""
        lines = self.log_path.read_text("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "(its log is empty)"
