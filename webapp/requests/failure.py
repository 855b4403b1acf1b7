"""The exception that ends a preparation."""

from __future__ import annotations

from inference.protocol.failures import Failure, FailureCode, FailureStage
from webapp.ground.gateway.refusal import Refusal

_STATUS = {"messages_refused": 409, "prompt_too_long": 409, "model_unavailable": 503}
"""By the failure's code. Any other is a fault of the server."""


class CannotPrepare(Refusal):
    """The request cannot be prepared; `failure` says why."""

    def __init__(self, stage: FailureStage, code: FailureCode, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(stage, code, message)
        self.status = _STATUS.get(code, 500)
        self.code = code
