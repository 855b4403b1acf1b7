"""The program in the isolation: it limits itself, checks that it is isolated, and runs the code of its standard input.

It runs as `python -c` with the limits as arguments, so it imports nothing of the project. The value of a last
expression is printed, as in an interactive interpreter.
"""

from __future__ import annotations

import ast
import errno
import linecache
import os
import resource
import sys
import traceback
from collections.abc import Iterator

READY = "isolated\n"
"""The first line of its output. Without it no code ran."""


def limit(memory_bytes: int, cpu_s: int, file_bytes: int) -> None:
    """Set limits of this process that it cannot raise again."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))  # SIGXCPU, which code may ignore, then SIGKILL
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def gaps() -> Iterator[str]:
    """Name what is not isolated."""
    if os.getuid() != 65534:
        yield "the user"
    if any(os.path.exists(each) for each in ("/proc", "/sys", "/dev", "/etc")):  # noqa: PTH110 (pathlib takes long)
        yield "the files"
    if set(os.environ) - {"PWD", "LC_CTYPE"}:
        yield "the environment"
    try:
        if os.fork() == 0:
            os._exit(0)
        yield "processes"
    except OSError as error:
        if error.errno != errno.EPERM:
            yield "processes"


def run(source: str) -> None:
    """Run the code as a program of its own."""
    linecache.cache["<code>"] = (len(source), None, source.splitlines(True), "<code>")
    names = {"__name__": "__main__", "__builtins__": __builtins__}
    tree = ast.parse(source, "<code>")
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
    exec(compile(tree, "<code>", "exec"), names)  # noqa: S102 (the purpose of this program)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), "<code>", "eval"), names)
        sys.displayhook(value)


def main() -> None:
    limit(*map(int, sys.argv[1:]))
    if found := list(gaps()):
        sys.exit(f"the isolation has gaps: {', '.join(found)}")
    sys.stdout.write(READY)
    sys.stdout.flush()
    source = sys.stdin.buffer.read().decode("utf-8", "replace")
    sys.argv = [""]
    try:
        run(source)
    except SystemExit:
        raise
    except BaseException as error:
        _tell(error)
        sys.exit(1)


def _tell(error: BaseException) -> None:
    """Print the traceback without this program's own frames."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != "<code>":
        frames = frames.tb_next
    traceback.print_exception(type(error), error, frames)


if __name__ == "__main__":
    main()
