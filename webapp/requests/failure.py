"""The reason why a request ends before its answer."""

from __future__ import annotations


class Failure(Exception):
    """`stage` and `code` are for programs, the message is for the user."""

    def __init__(self, stage: str, code: str, message: str) -> None:
        super().__init__(message)
        self.stage = stage
        self.code = code
        self.message = message

    def as_json(self) -> dict[str, str]:
        return {"stage": self.stage, "code": self.code, "message": self.message}
