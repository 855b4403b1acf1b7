"""Daphne with an access log without secrets: `python -m webapp.serve` takes the arguments of `daphne`."""

from __future__ import annotations

from typing import Any

from daphne.cli import CommandLineInterface
from daphne.server import Server

from webapp.private_log import path_without_secrets


class _Server(Server):  # type: ignore[misc]
    def log_action(self, protocol: str, action: str, details: dict[str, Any]) -> None:
        path = details["path"]
        path = path.decode("ascii", "replace") if isinstance(path, bytes) else path
        super().log_action(protocol, action, details | {"path": path_without_secrets(path)})


class _Command(CommandLineInterface):  # type: ignore[misc]
    server_class = _Server


if __name__ == "__main__":
    _Command.entrypoint()
