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
from webapp.ground.audit.actor import acting
from webapp.ground.gateway.errors import ApiError, View, check_caller, user_id
from webapp.ground.gateway.faults import database_refusal
from webapp.ground.gateway.operation import Operation
from webapp.ground.gateway.refusal import QUEUE_UNREACHABLE, Refusal

logger = logging.getLogger(__name__)

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
    """The error answer that this exception means. None: the exception is a fault of the server."""
    match error:
        case ApiError():
            return error
        case Refusal():
            return ApiError.of(error)
        case DatabaseFault():
            return database_refusal(error)
    return _of_library(error)


def _of_library(error: Exception) -> ApiError | None:
    """The same for exceptions of libraries and of the inference side, which know no status."""
    match error:
        case RedisError() | OperationalError():
            return ApiError(503, "queue_unavailable", QUEUE_UNREACHABLE)
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
