"""Ends the process of a Celery worker that has stopped. Knows nothing of its tasks."""

from __future__ import annotations

import logging
import os
from typing import Any


def end_process(sender: Any, **_: Any) -> None:
    """Exits at once; connected with `worker_shutdown`. All tasks have ended, and connections end with the process.

    Python would take all modules apart first, torch's among them: up to two seconds of a stop on a busy machine.
    """
    logging.shutdown()
    os._exit(sender.exitcode or 0)
