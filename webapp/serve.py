"""Daphne with bounded requests and an access log without secrets: `python -m webapp.serve` takes its arguments."""

from __future__ import annotations

import logging
import re
from typing import Any

import daphne.server
from daphne.cli import CommandLineInterface

from inference.logs.request import about
from webapp.private_log import path_without_secrets

logger = logging.getLogger("webapp.access")

_REQUEST = re.compile(r"/requests/(req_[0-9A-Za-z]+)")


class _Server(daphne.server.Server):  # type: ignore[misc]
    def run(self) -> None:
        from webapp.api.families.refusals import refused
        from webapp.ground.gateway.arrival import BoundedFactory
        from webapp.large_bodies import most_bytes

        # Daphne takes no factory, and looks for its own by this name.
        daphne.server.HTTPFactory = lambda server: BoundedFactory(server, most_bytes, refused)
        super().run()

    def log_action(self, protocol: str, action: str, details: dict[str, Any]) -> None:
        from django.conf import settings

        path = details["path"]
        path = path.decode("ascii", "replace") if isinstance(path, bytes) else path
        known = details | {"path": path_without_secrets(path)}
        if settings.ENVIRONMENT.log_format == "json":
            _log_access(f"{protocol} {action}", known)
        else:
            super().log_action(protocol, action, known)


def _log_access(action: str, details: dict[str, Any]) -> None:
    """Log the action in the site's own format. A query may hold a user's words, so it stays out."""
    path = details["path"].partition("?")[0]
    found = _REQUEST.search(path)
    seconds = details.get("time_taken")
    told = {
        "method": details.get("method"),
        "path": path,
        "status": details.get("status"),
        "client": details.get("client"),
        "duration_ms": None if seconds is None else round(seconds * 1000, 1),
        "bytes": details.get("size"),
    }
    with about(found[1] if found else None):
        logger.info("%s", action, extra={"told": told})


class _Command(CommandLineInterface):  # type: ignore[misc]
    server_class = _Server


if __name__ == "__main__":
    _Command.entrypoint()
