"""Collects the output of a process within limits of time and size, and ends the process that exceeds one."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from dataclasses import dataclass, field

_CHUNK = 1 << 16
_CLOSING_S = 5.0
"""Time that the kernel may need to end a killed process, before it is left alone."""


@dataclass(frozen=True)
class Output:
    """The texts of a program, as bytes: they need not be UTF-8."""

    stdout: bytes
    stderr: bytes
    is_cut: bool
    """There was more than the limit, and the process was ended."""


@dataclass(frozen=True)
class Ended:
    """A process that has ended, with its output."""

    output: Output
    status: int
    is_over_time: bool


@dataclass
class _Streams:
    """The bytes so far."""

    most: int
    texts: dict[str, bytearray] = field(default_factory=lambda: {"stdout": bytearray(), "stderr": bytearray()})

    @property
    def is_full(self) -> bool:
        return sum(map(len, self.texts.values())) > self.most

    def output(self) -> Output:
        """The first bytes of both; standard output comes first where both together are too long."""
        stdout = bytes(self.texts["stdout"][: self.most])
        return Output(stdout, bytes(self.texts["stderr"][: self.most - len(stdout)]), self.is_full)


def collect(process: subprocess.Popen[bytes], data: bytes, wall_s: float, most_bytes: int) -> Ended:
    """Write data to the process, read its output, and end it after wall_s or beyond most_bytes.

    A process may close its output and run on, so the clock counts until it has ended.
    """
    deadline = time.monotonic() + wall_s
    streams = _Streams(most_bytes)
    try:
        _talk(process, data, streams, deadline)
        is_over_time = not streams.is_full and _is_running_at(process, deadline)
    finally:
        process.kill()  # with it, the kernel ends all in its namespace of processes
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_CLOSING_S)
        for pipe in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(OSError):
                assert pipe is not None
                pipe.close()
    return Ended(streams.output(), process.returncode if process.returncode is not None else -9, is_over_time)


def _talk(process: subprocess.Popen[bytes], data: bytes, streams: _Streams, deadline: float) -> None:
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    rest = memoryview(data)
    with selectors.DefaultSelector() as selector:
        os.set_blocking(process.stdin.fileno(), False)
        selector.register(process.stdin, selectors.EVENT_WRITE)
        selector.register(process.stdout, selectors.EVENT_READ, "stdout")
        selector.register(process.stderr, selectors.EVENT_READ, "stderr")
        while selector.get_map() and not streams.is_full and (left_s := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left_s):
                if key.data is None:
                    if not (rest := _write(key.fd, rest)):
                        selector.unregister(process.stdin)
                        process.stdin.close()
                elif not _read(key.fd, streams.texts[key.data]):
                    selector.unregister(key.fileobj)


def _write(fd: int, rest: memoryview) -> memoryview:
    """Write some; return what is left. A process that reads no more gets no more."""
    try:
        return rest[os.write(fd, rest[:_CHUNK]) :]
    except BlockingIOError:
        return rest
    except OSError:
        return rest[:0]


def _read(fd: int, text: bytearray) -> bool:
    """Read some; False at the end."""
    data = os.read(fd, _CHUNK)
    text += data
    return bool(data)


def _is_running_at(process: subprocess.Popen[bytes], deadline: float) -> bool:
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return True
    return False
