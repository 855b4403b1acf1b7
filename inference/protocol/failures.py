"""The reasons why a request ends without an answer: one table of codes for workers, site and page."""

from __future__ import annotations

from typing import Literal

import msgspec

FailureStage = Literal["gateway", "safety", "context", "prompt", "generation", "settle"]
FailureCode = Literal[
    "blocked",
    "budget_used_up",
    "cancelled",
    "ended_workers",
    "grammar_too_complex",
    "internal",
    "invalid_grammar",
    "log_lost",
    "messages_refused",
    "model_unavailable",
    "no_prompt",
    "no_worker",
    "other_model",
    "overloaded",
    "parent_gone",
    "prompt_too_long",
    "queue_unavailable",
    "server_failed",
    "server_refused",
    "service_stopped",
    "unsupported",
    "worker_lost",
]

FAILURES: dict[FailureCode, str] = {
    "blocked": "Blocked by the safety policy: the message did not reach the model",
    "budget_used_up": "A budget has no room for the request",
    "cancelled": "The request was stopped before it reached the model",
    "ended_workers": "The workers that computed this request ended",
    "grammar_too_complex": "The form that was asked for is too complex",
    "internal": "Something failed in the server",
    "invalid_grammar": "The answer cannot take the form that was asked for",
    "log_lost": "The record of the answer was lost",
    "messages_refused": "The model takes no such messages",
    "model_unavailable": "The model is not available",
    "no_prompt": "The answer that this one continues has no prompt",
    "no_worker": "No worker took the request",
    "other_model": "The answer that this one continues comes from another model",
    "overloaded": "Too many requests",
    "parent_gone": "The answer that this one continues was deleted",
    "prompt_too_long": "The message is too long",
    "queue_unavailable": "The server's queue could not be reached",
    "server_failed": "The server behind this model failed",
    "server_refused": "The server behind this model refused the request",
    "service_stopped": "Sightglass was stopped",
    "unsupported": "The server behind this model does not support this request",
    "worker_lost": "The worker was lost",
}
"""The title that the page gives each failure."""


class Failure(msgspec.Struct, frozen=True):
    """Why a request could not be answered, as its last event and its row say it."""

    stage: FailureStage
    code: FailureCode
    message: str
    """The cause and the remedy, for people."""


class GrammarError(Exception):
    """The answer cannot keep to its form; the message says why."""

    code: FailureCode = "invalid_grammar"


class GrammarTooComplex(GrammarError):
    """To keep to the form takes too much time or memory; the message names the setting."""

    code = "grammar_too_complex"


class GrammarProcessFailed(GrammarError):
    """The process that keeps the answer to its form failed; the form is not to blame."""

    code = "internal"


SERVICE_STOPPED = Failure(
    "generation", "service_stopped", "Sightglass was stopped before the answer was complete. Send the message again."
)
LOG_LOST = Failure(
    "generation",
    "log_lost",
    "The log of this answer was lost, or a part of it, so the answer ends here. Send the message again.",
)
