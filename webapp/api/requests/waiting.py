"""The answer of an operation whose outcome a worker is still computing."""

from __future__ import annotations

from typing import Literal

from webapp.ground.gateway.structs import Result


class Waiting(Result):
    """A worker has not answered yet: ask again."""

    state: Literal["queued", "running"]
