"""The system calls that isolated code may make, and the kernel's filter that refuses all others.

The filter lists what is allowed, so a call that a later kernel adds is refused. Starting a process or a thread,
networks, mounts, tracing, keys, io_uring and BPF are not on the list. A call by the numbers of another processor
architecture (x32, i386) ends the process or is refused: its numbers are not on the list either. Numbers are those of
x86-64. Knows nothing of what runs.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

MACHINE = "x86_64"
"""The processor architecture whose numbers these are."""

_READ_AND_WRITE = (0, 1, 3, 8, 17, 18, 19, 20, 32, 33, 40, 72, 74, 75, 77, 285, 292, 326)
"""read write close lseek pread64 pwrite64 readv writev dup dup2 sendfile fcntl fsync fdatasync ftruncate fallocate dup3
copy_file_range"""
_FILES = (2, 4, 5, 6, 21, 73, 76, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 95, 137, 138, 217, 257, 258)
"""open stat fstat lstat access flock truncate getdents getcwd chdir fchdir rename mkdir rmdir creat link unlink symlink
readlink chmod fchmod umask statfs fstatfs getdents64 openat mkdirat"""
_FILES_AT = (262, 263, 264, 265, 266, 267, 268, 269, 280, 316, 332, 436, 439)
"""newfstatat unlinkat renameat linkat symlinkat readlinkat fchmodat faccessat utimensat renameat2 statx close_range
faccessat2"""
_MEMORY = (9, 10, 11, 12, 25, 28)
"""mmap mprotect munmap brk mremap madvise"""
_WAITING = (7, 22, 23, 24, 35, 202, 213, 230, 232, 233, 270, 271, 281, 290, 291, 293, 441)
"""poll pipe select sched_yield nanosleep futex epoll_create clock_nanosleep epoll_wait epoll_ctl pselect6 ppoll
epoll_pwait eventfd2 epoll_create1 pipe2 epoll_pwait2"""
_SIGNALS = (13, 14, 15, 34, 36, 37, 38, 127, 131, 234)
"""rt_sigaction rt_sigprocmask rt_sigreturn pause getitimer alarm setitimer rt_sigpending sigaltstack tgkill"""
_TIME = (96, 201, 228, 229)
"""gettimeofday time clock_gettime clock_getres"""
_ITSELF = (39, 60, 61, 63, 97, 98, 99, 100, 102, 104, 107, 108, 110, 111, 115, 118, 120, 158, 160, 186, 204, 218, 231)
"""getpid exit wait4 uname getrlimit getrusage sysinfo times getuid getgid geteuid getegid getppid getpgrp getgroups
getresuid getresgid arch_prctl setrlimit gettid sched_getaffinity set_tid_address exit_group"""
_START = (59, 273, 302, 318, 334)
"""execve set_robust_list prlimit64 getrandom rseq. The isolation starts the interpreter by execve; what code starts by
it is under the same filter."""
_PAIRS = (45, 48, 51, 52, 54, 55)
"""recvfrom shutdown getsockname getpeername setsockopt getsockopt: for a pair of sockets, which asyncio needs"""

_ALLOWED = frozenset(
    (*_READ_AND_WRITE, *_FILES, *_FILES_AT, *_MEMORY, *_WAITING, *_SIGNALS, *_TIME, *_ITSELF, *_START, *_PAIRS)
)


class Only(NamedTuple):
    """A system call is allowed where one of its arguments has one of these values."""

    argument: int
    values: Sequence[int]


_ALLOWED_WITH: Mapping[int, Only] = {
    16: Only(1, (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)),  # ioctl: TCGETS TIOCGWINSZ FIO- -NREAD -NBIO -CLEX
    44: Only(4, (0,)),  # sendto: to the other end alone
    53: Only(0, (1,)),  # socketpair: AF_UNIX
}
_UNKNOWN = (435,)
"""clone3: the C library then takes clone, which is refused with a reason that Python shows."""

_ARCHITECTURE = 0xC000003E
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_EPERM, _ENOSYS = 1, 38
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16


def program() -> bytes:
    """Return the filter as the kernel takes it: instructions of classic BPF."""
    rows = [_row(_LOAD, _ARCHITECTURE_AT), _row(_IF_EQUAL, _ARCHITECTURE, 1, 0), _row(_RETURN, _KILL)]
    rows.append(_row(_LOAD, _NUMBER_AT))
    for number in sorted(_ALLOWED):
        rows += [_row(_IF_EQUAL, number, 0, 1), _row(_RETURN, _ALLOW)]
    for number in _UNKNOWN:
        rows += [_row(_IF_EQUAL, number, 0, 1), _row(_RETURN, _ERRNO | _ENOSYS)]
    for number, only in _ALLOWED_WITH.items():
        checks = _checks(only)
        rows += [_row(_IF_EQUAL, number, 0, len(checks)), *checks]
    rows.append(_row(_RETURN, _ERRNO | _EPERM))
    return b"".join(rows)


def _checks(only: Only) -> list[bytes]:
    """Compare the argument's lower half with each value, after its upper half, which must be zero."""
    low = _ARGUMENTS_AT + 8 * only.argument
    refuse = _row(_RETURN, _ERRNO | _EPERM)
    rows = [_row(_LOAD, low + 4), _row(_IF_EQUAL, 0, 1, 0), refuse, _row(_LOAD, low)]
    for value in only.values:
        rows += [_row(_IF_EQUAL, value, 0, 1), _row(_RETURN, _ALLOW)]
    return [*rows, refuse]


def _row(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
