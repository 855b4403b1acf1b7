"""How the process of a Celery worker that has stopped ends. Knows nothing of what it did."""

from __future__ import annotations

import logging
import os
from typing import Any


def end_process(sender: Any, **_: Any) -> None:
    """At once, to be connected with `worker_shutdown`: its tasks have ended, and its connections end with it.

    Python would take all modules apart first, torch's among them: up to two seconds of a stop on a busy machine.
    """
    logging.shutdown()
    os._exit(sender.exitcode or 0)
