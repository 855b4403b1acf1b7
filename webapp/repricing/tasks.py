"""The task that compares. It computes for seconds, and takes one thread of a lifecycle worker meanwhile."""

from __future__ import annotations

from webapp.celery import app
from webapp.repricing.work import run


@app.task(name="repricing.run")
def run_task(work_id: str) -> None:
    run(work_id)


def queue(work_id: str) -> None:
    """Raises OperationalError."""
    app.send_task("repricing.run", args=[work_id])
