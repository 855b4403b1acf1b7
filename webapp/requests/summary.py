"""A request in brief, as the API, the library and saved traces show it. Knows nothing of its events."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from inference.protocol.request import FinishReason, Usage
from webapp.ground.gateway.structs import Result
from webapp.requests.models import Request

Status = Literal["queued", "running", "done", "stopped", "withheld", "blocked", "failed"]
Verdict = Literal["allow", "flag", "rewrite", "block"]


class RequestError(Result):
    """The reason why a request could not be answered."""

    stage: str
    code: str
    """Stable word for programs."""
    message: str


class TokenTimes(Result):
    """Times from each token to the next, in µs. The mean is the time per output token."""

    mean: int
    median: int
    p95: int
    worst: int


class Safety(Result):
    """The verdicts of a request's safety checks."""

    verdict: Verdict
    """The worst of all layers."""
    layers: dict[str, Verdict]
    """The worst of each layer that was checked."""


class ForkOrigin(Result):
    """The origin of a fork's answer. All fields are null where the request is no fork."""

    forked_from: str | None
    """The request whose answer it goes on from; null also when that was deleted."""
    fork_position: int | None
    """Tokens of that answer's own that the fork kept."""
    num_kept: int | None
    """Tokens that the fork began with, chosen or written ones included."""


class RequestSummary(ForkOrigin):
    """One request and its figures. A figure that is not known is null."""

    id: str
    status: Status
    surface: str
    """The API that the request came by."""
    model: str
    title: str
    created_at: datetime
    """An imported request was made elsewhere at this time."""
    usage: Usage | None
    cost_nano: int | None
    """Billionths of the currency's unit."""
    currency: str
    """Empty: nothing was billed."""
    finish_reason: FinishReason | None
    error: RequestError | None
    num_events: int
    duration_us: int | None
    first_token_us: int | None
    """Time of the first sampled token, µs since acceptance, without the time that a person took to choose tokens."""
    first_text_us: int | None
    """Time of the first released text, counted in the same way."""
    between_tokens_us: TokenTimes | None
    safety: Safety | None
    """Null: no check is recorded."""
    is_imported: bool
    imported_at: datetime | None
    """Time of the import; null: the request was made here."""
    agent_of: str | None
    """The request that started this one as an agent; null: none did, or it was imported."""


class Figures(Result):
    """A settled request's figures, which stand below its answer."""

    usage: Usage | None
    cost_nano: int | None
    currency: str
    finish_reason: FinishReason | None
    max_tokens: int | None
    """Most tokens that the request allowed."""
    first_text_us: int | None


def summary(request: Request) -> RequestSummary:
    """Return the request's summary."""
    return RequestSummary(**summary_fields(request))


def summary_fields(request: Request) -> dict[str, Any]:
    """The fields of RequestSummary, for a struct that adds others."""
    verdict: Any = request.safety_verdict
    return fork_fields(request) | {
        "id": request.id,
        "status": status(request),
        "surface": request.surface,
        "model": request.model,
        "title": request.title,
        "created_at": request.created_at,
        "usage": usage(request),
        "cost_nano": request.cost_nano,
        "currency": request.currency,
        "finish_reason": finish_reason(request),
        "error": error(request),
        "num_events": request.num_events,
        "duration_us": request.duration_us,
        "first_token_us": request.first_token_us,
        "first_text_us": request.first_text_us,
        "between_tokens_us": request.between_tokens_us and TokenTimes(**request.between_tokens_us),
        "safety": Safety(verdict=verdict, layers=request.safety_layers or {}) if verdict else None,
        "is_imported": request.is_imported,
        "agent_of": request.agent_of_id,
        "imported_at": request.finished_at if request.is_imported else None,
    }


def fork_fields(request: Request | None) -> dict[str, Any]:
    """The fields of ForkOrigin; None: no request."""
    return {
        "forked_from": request and request.forked_from_id,
        "fork_position": request and request.fork_position,
        "num_kept": request and request.num_kept_tokens,
    }


def figures(request: Request) -> Figures:
    """Return a settled request's figures; no trace is read."""
    return Figures(
        usage=usage(request),
        cost_nano=request.cost_nano,
        currency=request.currency,
        finish_reason=finish_reason(request),
        max_tokens=request.params.get("max_tokens"),
        first_text_us=request.first_text_us,
    )


def status(request: Request) -> Status:
    """The request's status."""
    found: Any = request.status
    known: Status = found
    return known


def finish_reason(request: Request) -> FinishReason | None:
    """The reason why its generation ended; None: it has not, or failed before an end."""
    found: Any = request.finish_reason or None
    known: FinishReason | None = found
    return known


def usage(request: Request) -> Usage | None:
    """The tokens by kind; None: not known."""
    return None if request.usage is None else msgspec.convert(request.usage, Usage)


def error(request: Request) -> RequestError | None:
    """The reason why the request could not be answered; None: it has none."""
    if not request.error_code:
        return None
    return RequestError(stage=request.error_stage, code=request.error_code, message=request.error_message)


def about(request: Request) -> dict[str, Any]:
    """The summary in the form in which a saved trace carries it."""
    fields: dict[str, Any] = msgspec.to_builtins(summary(request))
    return fields
