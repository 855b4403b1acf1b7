"""What a batch asks of a family's forms. Knows nothing of any family."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from inference.protocol.events import AnyEvent
from webapp.ground.gateway.errors import ApiError
from webapp.identity.keys.models import ApiKey
from webapp.requests.models import Request
from webapp.surfaces.batches.models import Batch, Line
from webapp.surfaces.calls.call import Call, PlainCall
from webapp.surfaces.calls.embedding_call import Embedded
from webapp.usage.limits.refusal import Refused

_WAIT_MOST_S = 60
"""The longest wait for which a line stays: rates are of a minute."""


@dataclass(frozen=True)
class Work:
    """A line that requests answer."""

    call: Call | PlainCall
    save: Callable[[Sequence[Request]], None] = field(default=lambda _requests: None)
    """Saves rows that hang on the requests, in the transaction that saves these."""


@dataclass(frozen=True)
class Embedding:
    """A line of texts to embed: this process computes it at once."""

    texts: Sequence[str]
    answer: Callable[[Embedded], Any]
    """Writes the vectors in the family's form."""


class Form(Protocol):
    """How a family writes the lines of a batch."""

    surface: str
    has_files: bool
    """Its results are files, which its clients list."""
    endpoints: tuple[str, ...]
    """Addresses to which its lines may go."""
    id_prefix: str
    """Of its batches' ids."""

    def work(self, batch: Batch, body: bytes, key: ApiKey | None) -> Work | Embedding:
        """Read a line as its live call would. Raises what that raises."""

    def answer(
        self, batch: Batch, body: bytes, requests: Sequence[Request], events: Sequence[Sequence[AnyEvent]]
    ) -> Any:
        """The answer of a line, from each request's events. Raises ApiError where one failed."""

    def refusal(self, error: Exception) -> ApiError | None:
        """The refusal that this exception means. None: it is a fault of the server."""

    def succeeded(self, line: Line, request_id: str, answer: Any) -> bytes:
        """The line of the result file."""

    def errored(self, line: Line, request_id: str, refusal: ApiError) -> bytes:
        """The line of the result file."""

    def unrun(self, line: Line, status: Line.Status) -> bytes:
        """The line of the result file for a line that was canceled, or has expired."""


def forms() -> Mapping[str, Form]:
    """Return each family's form. The setting names where it is, as a batch runs below the families' own packages."""
    found: Mapping[str, Form] = import_string(settings.BATCH_FORMS)
    return found


def form_of(family: str) -> Form:
    return forms()[family]


def passes_in_s(form: Form, error: Exception) -> int:
    """Return the time after which a refused call may be let through. 0: waiting does not help, or not soon."""
    if isinstance(error, Refused):
        return error.retry_after_s if error.is_passing else 0
    refusal = form.refusal(error)
    is_passing = refusal is not None and refusal.status == 429 and refusal.retry_after_s <= _WAIT_MOST_S
    return refusal.retry_after_s if refusal is not None and is_passing else 0
