"""Makes Django views from JSON operations: methods, sign-in, and a refusal for each of the site's exceptions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.db import Error as DatabaseFault
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from inference.grammar.check import CheckFailed, ChecksBusy
from inference.sandbox.sandbox import SandboxError
from inference.tokenization.gguf_metadata import TokenizerError
from inference.tokenization.template_process import MessagesRefused, TemplateError
from webapp.api.doors import check_door
from webapp.content.attachments.selection import FilesTooLong
from webapp.ground.audit.actor import acting
from webapp.ground.gateway import errors
from webapp.ground.gateway.errors import ApiError, View, check_caller, user_id
from webapp.ground.gateway.faults import database_refusal
from webapp.ground.gateway.operation import Operation
from webapp.identity.keys.keys import OutOfScope
from webapp.lifecycle.admission import TooManyOpen
from webapp.lifecycle.fork import CannotFork
from webapp.lifecycle.start import QueueUnavailable
from webapp.models.registry.offered import NotOffered, UnknownModel
from webapp.requests.delivery import KeyReused, NotBegun
from webapp.requests.failure import CannotPrepare
from webapp.surfaces.chat.attaching import CannotAttach
from webapp.surfaces.chat.compacting import CannotCompact
from webapp.surfaces.chat.sending import AnswerOpen
from webapp.surfaces.runs.saved_prompt import CannotRerun
from webapp.traces.file.archive import TraceFileError
from webapp.traces.recordings.turns import TooManyRecordings
from webapp.usage.limits.refusal import Refused

logger = logging.getLogger(__name__)

_PREPARING = {"messages_refused": 409, "prompt_too_long": 409, "model_unavailable": 503}
"""Statuses for prompts that cannot be made, by the failure's code."""
_BUSY_S = 2
"""A check of a form takes half a second at most."""


def api(**functions: Callable[..., Any]) -> View:
    """Make the Django view of an address from its operations: `api(GET=show_preset, DELETE=delete_preset)`.

    Only signed-in users reach an operation. Each of the site's exceptions becomes its error answer. An operation that
    waits has its address alone.
    """
    operations = {method: Operation(function) for method, function in functions.items()}
    waits = any(operation.waits for operation in operations.values())
    assert not waits or len(operations) == 1, "an operation that waits has its address alone"
    view = _waiting_view(operations) if waits else _view(operations)
    view.operations = operations  # type: ignore[attr-defined]
    return view


def _view(operations: dict[str, Operation]) -> View:
    def view(request: HttpRequest, **parameters: Any) -> HttpResponseBase:
        try:
            check_caller(request, list(operations))
            check_door(request)
            with acting(user_id(request)):
                return operations[request.method or ""](request, **parameters)
        except Exception as error:
            return _refused(error, operations)

    return view


def _waiting_view(operations: dict[str, Operation]) -> View:
    async def view(request: HttpRequest, **parameters: Any) -> HttpResponseBase:
        try:
            await sync_to_async(check_caller)(request, list(operations))
            await sync_to_async(check_door)(request)
            with acting(user_id(request)):
                return await operations[request.method or ""].wait(request, **parameters)
        except Exception as error:
            return _refused(error, operations)

    return view  # type: ignore[return-value]  # the stubs of Django's `path` know no view that waits


def _refused(error: Exception, operations: dict[str, Operation]) -> HttpResponseBase:
    """The error answer. Raises the exception where it is a fault of the server."""
    if (refusal := refusal_of(error)) is None:
        raise error
    response = refusal.response()
    if refusal.status == 405:
        response["Allow"] = ", ".join(operations)
    return response


def refusal_of(error: Exception) -> ApiError | None:
    """The refusal that this exception means. None: the exception is a fault of the server."""
    match error:
        case ApiError():
            return error
        case QueueUnavailable() | NotBegun() | RedisError() | OperationalError():
            return ApiError(503, "queue_unavailable", "The server's queue cannot be reached. Try again.")
        case DatabaseFault():
            return database_refusal(error)
        case TooManyOpen():
            return errors.too_many_open(str(error), error.retry_after_s)
        case Refused():
            status = 429 if error.code in ("rate_limited", "day_used_up", "budget_used_up", "overloaded") else 403
            return ApiError(status, error.code, str(error), retry_after_s=error.retry_after_s)
        case AnswerOpen():
            message = "The answer before this message is not complete. Wait for its end or stop it, then send."
            return ApiError(409, "answer_open", message)
        case CannotAttach():
            return ApiError(409, "cannot_attach", str(error), "attachments")
        case FilesTooLong():
            return ApiError(409, "files_too_long", str(error), "pins")
        case OutOfScope():
            return ApiError(403, "out_of_scope", str(error), "model")
        case NotOffered():
            return ApiError(409, "model_unavailable", str(error), "model")
        case UnknownModel():
            return ApiError(404, "unknown_model", str(error), "model")
        case KeyReused():
            message = "This Idempotency-Key belongs to another call. Use a new key for each call."
            return ApiError(422, "key_reused", message)
        case TooManyRecordings():
            return ApiError(409, "too_many", str(error))
        case CannotFork():
            return ApiError(400 if error.field else 409, error.code, str(error), error.field)
        case CannotCompact():
            return ApiError(409, error.code, str(error))
        case CannotPrepare():
            failure = error.failure
            return ApiError(_PREPARING.get(failure.code, 500), failure.code, failure.message)
        case CannotRerun():
            return ApiError(409, error.code, str(error))
        case TraceFileError():
            return ApiError(409, "trace_unreadable", f"The saved trace cannot be read: {error}")
        case ChecksBusy():
            message = "Too many forms of answers are being checked. Try again in a few seconds."
            return ApiError(429, "busy", message, retry_after_s=_BUSY_S)
        case CheckFailed():
            logger.error("a form cannot be checked: %s", error)
            message = "The form of the answer could not be checked; the server's log has the details. Try again."
            return ApiError(500, "internal", message)
        case SandboxError():
            logger.error("a process that reads files failed: %s", error)
            message = "The process that reads files ended. Nothing was kept. Try again in a few seconds."
            return ApiError(503, "busy", message, retry_after_s=_BUSY_S)
        case MessagesRefused():
            return ApiError(400, "messages_refused", str(error))
        case TokenizerError() | TemplateError():
            return ApiError(503, "model_unavailable", str(error))
    return None
