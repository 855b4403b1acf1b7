"""Programs that try to leave the isolation: none succeeds, each is ended, and the host's listeners hear nothing.

Where this machine cannot isolate, the tool refuses, and the attempts are skipped.
"""

from __future__ import annotations

import os
import site
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.webapp.tools import attempts
from webapp.tools import python
from webapp.tools.sandbox.isolation import Isolation, Limits, Run
from webapp.tools.tool import Asker, ToolError

ASKER = Asker("req_" + "t" * 22, 1)
SECRET = "the secret of the host"
LIMITS = Limits(cpu_s=1, wall_s=3.0)


@dataclass(frozen=True)
class Host:
    """What the host of these tests offers to one that escapes."""

    names: dict[str, Any]
    listeners: list[socket.socket]

    def has_heard(self) -> bool:
        """Return whether a connection or a message has come."""
        return any(map(_has_come, self.listeners))


def _has_come(listener: socket.socket) -> bool:
    try:
        listener.recv(1) if listener.type == socket.SOCK_DGRAM else listener.accept()
    except BlockingIOError:
        return False
    return True


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setenv("SECRET_OF_THE_HOST", SECRET)
    (tmp_path / "secret").write_text(SECRET)
    tmp_path.chmod(0o777)
    path, abstract = str(tmp_path / "socket"), f"\0sightglass-{os.getpid()}"
    tcp = _listening(socket.AF_INET, ("127.0.0.1", 0))
    port = tcp.getsockname()[1]
    listeners = [tcp, _listening(socket.AF_UNIX, path), _listening(socket.AF_UNIX, abstract)]
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", port))
    listeners.append(udp)
    for each in listeners:
        each.setblocking(False)
    names = {"secret": str(tmp_path / "secret"), "outside": str(tmp_path), "port": port, "socket": path}
    packages = site.getsitepackages()
    yield Host(
        {**names, "abstract": abstract, "variable": "SECRET_OF_THE_HOST", "packages": packages, "pid": os.getpid()},
        listeners,
    )
    for each in listeners:
        each.close()


def _listening(family: int, address: Any) -> socket.socket:
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen()
    return listener


@pytest.fixture(scope="module")
def isolation() -> Isolation:
    if reason := python.unavailable():
        pytest.skip(f"this machine cannot isolate: {reason}")
    return Isolation(LIMITS)


def failed(run: Run) -> None:
    """Check that the attempt did not succeed, and that the program has ended with all that it started."""
    assert b"ESCAPED" not in run.output.stdout, run
    assert SECRET.encode() not in run.output.stdout + run.output.stderr
    assert [each for each in psutil.Process().children(recursive=True) if each.name() == "bwrap"] == []


def cases(*groups: dict[str, str]) -> Any:
    found = [pytest.param(code, id=name) for group in groups for name, code in group.items()]
    return pytest.mark.parametrize("code", found)


@cases(attempts.READS)
def test_nothing_of_the_host_is_read(isolation: Isolation, host: Host, code: str) -> None:
    run = isolation.run(code.format(**host.names))
    failed(run)
    assert run.status == 1 and b"Error" in run.output.stderr


@cases(attempts.WRITES)
def test_nothing_outside_is_written(isolation: Isolation, host: Host, code: str) -> None:
    files = {each: each.stat().st_mtime_ns for each in (Path(os.__file__), Path(sys.executable).resolve())}
    run = isolation.run(code.format(**host.names))
    failed(run)
    assert run.status
    assert {each: each.stat().st_mtime_ns for each in files} == files
    assert not (Path(host.names["outside"]) / "new").exists()


@cases(attempts.CONNECTS)
def test_nothing_outside_is_reached(isolation: Isolation, host: Host, code: str) -> None:
    failed(isolation.run(code.format(**host.names)))
    assert not host.has_heard()


@cases(attempts.STARTS)
def test_nothing_is_started(isolation: Isolation, code: str) -> None:
    failed(isolation.run(code.format()))


def test_other_system_calls_are_refused(isolation: Isolation) -> None:
    code = (
        attempts.CALL + f"print({{name: call(number, 0, 0, 0, 0, 0) for name, number in {attempts.NUMBERS}.items()}})"
    )
    run = isolation.run(code)
    failed(run)
    answers = eval(run.output.stdout)
    refused = dict.fromkeys(attempts.NUMBERS, (-1, 1)) | {"clone3": (-1, 38)}
    assert answers == refused


def test_system_calls_of_another_architecture_end_the_program(isolation: Isolation) -> None:
    run = isolation.run(attempts.INTERRUPT)
    failed(run)
    assert run.status


@cases(attempts.GROWS)
def test_the_limits_hold(isolation: Isolation, code: str) -> None:
    run = isolation.run(code)
    failed(run)
    assert run.status


@cases(attempts.STAYS)
def test_a_program_ends_in_time(isolation: Isolation, code: str) -> None:
    run = isolation.run(code)
    failed(run)
    assert run.status


@cases(attempts.FLOODS)
def test_output_is_cut_and_the_program_ended(isolation: Isolation, code: str) -> None:
    run = isolation.run(code)
    failed(run)
    assert run.output.is_cut and len(run.output.stdout) + len(run.output.stderr) <= LIMITS.output_bytes


@cases(attempts.SIGNALS)
def test_no_other_process_is_signalled(isolation: Isolation, host: Host, code: str) -> None:
    run = isolation.run(code.format(**host.names))
    failed(run)
    assert b"PermissionError" in run.output.stderr


_HARMLESS = [
    *(attempts.READS[name] for name in ("a file of the host", "a file through a symbolic link", "the environment")),
    attempts.READS["the installed packages"],
    attempts.WRITES["a file of the host"],
    *(attempts.CONNECTS[name] for name in ("TCP", "UDP", "a socket in a folder", "an abstract socket by a pair")),
    *(attempts.STARTS[name] for name in ("a process", "a program", "a thread")),
]


@pytest.mark.parametrize("code", _HARMLESS)
def test_the_attempts_succeed_without_the_isolation(host: Host, tmp_path: Path, code: str) -> None:
    """So that the tests above do not pass by an attempt's own mistake."""
    if "socketpair" in code:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        listener.bind(host.names["abstract"] + "-datagrams")
        host.names["abstract"] += "-datagrams"
    folder = tmp_path / "own"
    folder.mkdir()
    command = [sys.executable, "-c", code.format(**host.names)]
    assert b"ESCAPED" in subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=60).stdout


def test_a_host_without_user_namespaces_is_refused_by_name(isolation: Isolation) -> None:
    """The kernel lacks the feature for a process that may create no user namespace."""
    code = "from webapp.tools import python; print(python.unavailable())"
    walls = ["--dev-bind", "/", "/", "--unshare-user", "--uid", "65534", "--disable-userns", "--proc", "/proc"]
    command = [str(isolation.bwrap), *walls, "--", sys.executable, "-c", code]
    told = subprocess.run(
        command, capture_output=True, check=True, timeout=60, text=True, cwd=Path(__file__).parents[3]
    )
    assert "user namespaces" in told.stdout


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'bwrap: Creating new namespace failed: Operation not permitted' >&2; exit 1", "user namespaces"),
        ("echo 'bwrap: prctl(PR_SET_SECCOMP): Invalid argument' >&2; exit 1", "seccomp"),
        ("exit 7", "could not be set up"),
        ('while [ $1 != -- ]; do shift; done; shift; exec "$@"', "the isolation has gaps"),
    ],
    ids=["no namespaces", "no filter", "no reason", "walls that do nothing"],
)
def test_the_tool_refuses_what_is_not_isolated(
    script: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, proof = tmp_path / "bwrap", tmp_path / "proof"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(python, "isolation", lambda: Isolation(LIMITS, fake))
    assert reason in python.unavailable()
    with pytest.raises(ToolError, match=reason):
        python.run_python({"code": f"open({str(proof)!r}, 'w')"}, ASKER)
    assert not proof.exists()
