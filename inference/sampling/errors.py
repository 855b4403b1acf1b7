"""The errors of a sequence for which no token can be chosen, now or ever."""

from __future__ import annotations

from inference.protocol.failures import FailureCode


class MaskPending(Exception):
    """The grammar's mask is not there yet; the same call succeeds later."""


class SamplingFailed(Exception):
    """This sequence cannot go on; the message says why."""

    def __init__(self, message: str, code: FailureCode = "internal") -> None:
        super().__init__(message)
        self.code: FailureCode = code


class NonFiniteLogits(SamplingFailed):
    """The model returned NaN or infinity."""
