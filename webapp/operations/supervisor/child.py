"""One child process that cannot outlive the supervisor. Knows nothing of its program.

A guard is started first: a shell that waits at the end of a pipe, and leads the process group that the program joins.
The system closes the pipe's other end when the supervisor ends, however it ends. The guard then kills its own group.
This needs nothing but a pipe and a process group, so it is the same on Linux, in WSL and on macOS. Nor does a program
that is not ours, such as the Redis server, need to know of it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

# A signal to the group is for the program: the guard ignores it, says that it does, and waits for the pipe's end.
_GUARD = "trap '' HUP INT QUIT USR1 USR2 PIPE ALRM TERM TSTP; echo; read _; kill -KILL 0"


class Child:
    """A named process with its own log file and process group."""

    def __init__(self, name: str, command: Sequence[str | Path], log_path: Path, env: dict[str, str]) -> None:
        self.name = name
        program = Path(command[0])
        self.title = name if program == Path(sys.executable) else f"{name} ({program.name})"
        """The name in messages, with the program's name where `ps` shows another one."""
        self.log_path = log_path
        if log_path.exists():  # the previous run's log may hold the reason for its end
            log_path.replace(log_path.with_suffix(".log.1"))
        self._started_at = time.monotonic()
        self._guard = _start_guard()
        try:
            with log_path.open("wb") as log:
                self._process = self.run(list(map(str, command)), log, env, self._guard.pid)
        except BaseException:
            self._end_group()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def age_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started_at

    @property
    def exit_status(self) -> int | None:
        """The program's status; None while it runs. What it leaves of its group is ended once it is known."""
        status = self._process.poll()
        if status is not None:
            self._end_group()
        return status

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the whole group, so that grandchildren get it too."""
        if self._guard.returncode is None:  # no other group has the guard's number before it is reaped
            # macOS says PermissionError of a group whose processes have all ended.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._guard.pid, number)

    def wait(self, timeout_s: float) -> bool:
        """Wait for the end; False after the timeout."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        return self.exit_status is not None

    def ending(self) -> str:
        """The exit status with the log's last line, or the signal: a killed process had no time to log.

        A process that was asked to stop ends with 0, and its last line is no reason.
        """
        status = self.exit_status
        assert status is not None
        if status < 0:
            return f"was ended by {signal.Signals(-status).name}"
        if status == 0:
            return "has stopped"
        return f"ended ({status}): {self.last_line().rstrip('.')}"

    def log(self) -> str:
        return self.log_path.read_text("utf-8", "replace")

    def last_line(self) -> str:
        """The log's last line, usually the reason for the exit."""
        lines = self.log().strip().splitlines()
        return lines[-1] if lines else "(its log is empty)"

    def run(
        self, command: Sequence[str], log: IO[bytes], env: dict[str, str], process_group: int
    ) -> subprocess.Popen[bytes]:
        """Start the program in the guard's group. A subclass may start it in another way."""
        return subprocess.Popen(
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=env,
            process_group=process_group,
        )

    def _end_group(self) -> None:
        self.send(signal.SIGKILL)
        self._guard.communicate()


def _start_guard() -> subprocess.Popen[bytes]:
    """Return the leader of a new process group, as soon as no signal but SIGKILL ends it."""
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,
        env={},  # the supervisor's own holds secrets
    )
    assert guard.stdout is not None
    with guard.stdout:
        guard.stdout.readline()
    return guard
