"""The process in which a model file's chat template is compiled and rendered: the program that `TemplateProcess` runs.

The template is foreign code. One of its operations in C may take years (to compare two nested lists) or all memory (to
join a text to itself). So the operating system limits the process at any moment; Jinja's sandbox keeps the code from
private attributes. For each line on standard input, a JSON object, there is one on standard output:

    {"compile": source}     {}
    {"render": variables}   {"text": the rendered text}
                            {"error": the reason}

Its arguments: the processor time for one line in seconds, after which SIGPROF ends it, and the bytes of its address
space, 0 where the system has no such limit. Imports nothing of the project.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from typing import Any, NoReturn

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

_MAX_RENDERED_CHARS = 2_000_000
"""Messages are placeholders: a template's own words for thousands of them take a fraction of this."""
_MAX_ERROR_CHARS = 500


def main(time_limit_s: float, memory_limit: int) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # sent to the parent's whole group; its end ends standard input
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # both are inherited
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_limit:
        resource.setrlimit(resource.RLIMIT_AS, (memory_limit, memory_limit))
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.globals["raise_exception"] = _raise
    template = environment.from_string("")
    for line in sys.stdin.buffer:
        job = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, time_limit_s)
        reply: dict[str, str] = {}
        try:
            if "compile" in job:
                template = environment.from_string(job["compile"])
            else:
                reply = _rendered(template, job["render"])
        except Exception as error:  # the template's code is foreign: it may raise anything
            reply = {"error": _said(error)}
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def _rendered(template: jinja2.Template, variables: dict[str, Any]) -> dict[str, str]:
    text = template.render(variables)
    if len(text) > _MAX_RENDERED_CHARS:
        return {"error": f"it makes {len(text):,} characters of its own"}
    return {"text": text}


def _said(error: Exception) -> str:
    return "it takes too much memory" if isinstance(error, MemoryError) else f"{error}"[:_MAX_ERROR_CHARS]


def _raise(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
