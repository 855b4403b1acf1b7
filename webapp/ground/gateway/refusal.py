"""The base of each exception that says why the site does not do what a caller asks. Knows no wire format."""

from __future__ import annotations

QUEUE_UNREACHABLE = "The server's queue cannot be reached. Try again."


class Refusal(Exception):
    """A reason with what the API answers. A subclass sets what differs; its text says what to do."""

    status: int = 409
    code: str = "conflict"
    """Stable word, for programs."""
    field: str | None = None
    """The field that is wrong. None: no single field is."""
    retry_after_s: int = 0
    """0: waiting does not help."""

    @property
    def api_code(self) -> str:
        """The code in an answer. Differs from `code` where records have a finer one."""
        return self.code

    @property
    def words(self) -> str:
        """The sentence for the caller."""
        return str(self)
