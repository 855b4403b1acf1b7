"""The exception that ends a preparation."""

from __future__ import annotations

from inference.protocol.failures import Failure, FailureCode, FailureStage


class CannotPrepare(Exception):
    """The request cannot be prepared; `failure` says why."""

    def __init__(self, stage: FailureStage, code: FailureCode, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(stage, code, message)
