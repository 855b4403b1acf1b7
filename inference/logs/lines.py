"""Log lines as JSON, one object a line, for every process. Knows nothing of Django and of Celery.

A record's `extra` stays out of the line: Celery puts a task's arguments there, Django the request. Only `told`, which
our own code sets, adds fields.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from inference.logs.request import named_request

LogFormat = Literal["line", "json"]


def parse_log_format(text: str | None) -> LogFormat:
    """Return the format of the setting. Ends the process with one line when there is no such format."""
    choices: tuple[LogFormat, ...] = get_args(LogFormat)
    for choice in choices:
        if choice == (text or "line"):
            return choice
    raise SystemExit(f"sightglass: SIGHTGLASS_LOG_FORMAT is {text!r}; use one of {', '.join(choices)}.")


class JsonFormatter(logging.Formatter):
    """Formats a record as JSON in ASCII, so that no character can break the line."""

    def __init__(self, process: str | None = None) -> None:
        """process: the name in each line; None: as the command line tells."""
        super().__init__()
        self._process = process_name(sys.argv) if process is None else process

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps({name: value for name, value in self.fields(record).items() if value is not None})

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """The line's fields; None: absent."""
        return {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": self._process,
            "request_id": named_request(),
            **getattr(record, "told", {}),
            "exception": self.formatException(record.exc_info) if record.exc_info else None,
        }


def process_name(arguments: Sequence[str]) -> str:
    """Return the process's name in the product, from its command line."""
    if "-n" in arguments[:-1]:
        return arguments[arguments.index("-n") + 1].partition("@")[0]
    program = Path(arguments[0]).name if arguments else ""
    if program == "serve.py":
        return "web"
    return arguments[1] if program == "manage.py" and len(arguments) > 1 else program


def log_as_json() -> None:
    """Let this process's log, warnings included, be JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
