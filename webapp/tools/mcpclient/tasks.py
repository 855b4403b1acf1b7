"""Reads a server's tools in the worker that also calls them: as it starts, and when an operator asks."""

from __future__ import annotations

from typing import Any

from celery.signals import worker_ready

from webapp.celery import app
from webapp.tools.mcpclient.configured import servers
from webapp.tools.mcpclient.reading import read

_AGAIN_S = 5


@app.task(name="mcpclient.read")
def read_task(name: str) -> None:
    """Read the tools of one server, once this worker has a place for it."""
    from webapp.tools.mcpclient.session import ServersBusy

    if server := servers().get(name):
        try:
            read(server)
        except ServersBusy:
            read_task.apply_async((name,), countdown=_AGAIN_S)


@worker_ready.connect
def read_each(**_: Any) -> None:
    """Queue a reading of each server as a worker starts: its tools are listed before an operator looks."""
    for name in servers():
        read_task.delay(name)
