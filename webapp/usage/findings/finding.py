"""One finding: a sentence with figures, the way to its charts, and the requests that explain it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal, Protocol

from webapp.ground.gateway.structs import Result
from webapp.usage.findings.history import History, Span
from webapp.usage.listing import UsedRequest

Kind = Literal["cost", "spender", "cache", "causes", "slow_hours", "slow_worker", "growth"]
Severity = Literal["high", "medium", "low"]
Order = Literal["newest", "cost", "first_token", "per_token", "input", "uncached"]
"""The newest requests first, or those with the highest value."""
SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")


class Lead(Result):
    """The choices that show a finding's requests in the charts."""

    first: date
    last: date
    user_id: int | None = None
    model: str = ""
    status: str = ""
    code: str = ""


class Finding(Result):
    """Something that stands out in a period."""

    key: str
    """The same for the same finding, also when it is looked for again later."""
    kind: Kind
    severity: Severity
    title: str
    """One sentence with its figures."""
    why: str
    """Sentences with the causes that the records show; may be empty."""
    start: datetime
    end: datetime
    lead: Lead
    requests: list[UsedRequest]
    """The requests that explain it best."""


@dataclass(frozen=True)
class Told:
    """A suspicion in words."""

    title: str
    why: Sequence[str] = ()
    requests: Sequence[UsedRequest] = ()


@dataclass(frozen=True)
class Seen:
    """One request's figures."""

    accepted_at: datetime
    user_id: int
    model: str
    worker: str
    status: str
    error_code: str
    queue_us: int | None
    first_token_us: int | None
    per_token_us: int | None


class Evidence(Protocol):
    """Reads the requests behind a suspicion."""

    @property
    def is_own(self) -> bool:
        """True: the reader asks for their own usage only."""
        ...

    def name(self, user_id: int) -> str:
        """The user's name."""
        ...

    def top(self, span: Span, order: Order, **conditions: Any) -> list[UsedRequest]:
        """Return the first few requests in this order."""
        ...

    def seen(self, span: Span, **conditions: Any) -> list[Seen]:
        """Return the requests of a span, up to a limit."""
        ...


@dataclass(frozen=True)
class Suspicion:
    """What a detector found in the sums, before its requests are read."""

    kind: Kind
    severity: Severity
    span: Span
    size: float
    """Orders suspicions of the same severity: the ratio to what is usual."""
    subject: str = ""
    """Tells suspicions of the same kind and time apart."""
    lead: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.subject}:{self.span.start:%Y-%m-%dT%H:%MZ}"

    @property
    def weekly_key(self) -> str:
        """The key of a suspicion whose span moves on each day: the same for a week's time."""
        last = self.span.end - timedelta(microseconds=1)
        return f"{self.kind}:{self.subject}:{last:%G-W%V}"

    def tell(self, history: History, evidence: Evidence) -> Told | None:
        """Say it in words. None: the requests do not bear it out."""
        raise NotImplementedError
