"""The error of a probe that cannot be made."""

from __future__ import annotations


class ProbeError(Exception):
    """`code` is for programs (other_model, invalid_ids, model_unavailable); the message tells people what to do."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
