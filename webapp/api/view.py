"""The decorator of JSON views: methods, sign-in, and one error answer for each of the site's exceptions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from inference.tokenization.gguf_metadata import TokenizerError
from inference.tokenization.template_process import TemplateError
from webapp.chat.delivery import KeyReused
from webapp.chat.sending import AnswerOpen
from webapp.gateway import errors
from webapp.gateway.errors import ApiError, View
from webapp.lifecycle.admission import TooManyOpen
from webapp.lifecycle.fork import CannotFork
from webapp.lifecycle.start import QueueUnavailable
from webapp.reruns.saved import CannotRerun
from webapp.traces.file.archive import TraceFileError


def api(*methods: str) -> Callable[[View], View]:
    """Make a JSON view for signed-in users, as `errors.api`; turn the site's exceptions into answers."""

    def decorate(view: View) -> View:
        @errors.api(*methods)
        @wraps(view)
        def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                return view(request, *args, **kwargs)
            except ApiError:
                raise
            except Exception as error:
                if (answer := answer_to(error)) is None:
                    raise
                raise answer from None

        return answered

    return decorate


def answer_to(error: Exception) -> ApiError | None:
    """The error answer for this exception. None: the exception is a fault of the server."""
    match error:
        case QueueUnavailable() | RedisError() | OperationalError():
            return ApiError(503, "queue_unavailable", "The server's queue cannot be reached. Try again.")
        case TooManyOpen():
            return errors.too_many_open(str(error))
        case AnswerOpen():
            message = "The answer before this message is not complete. Wait for its end or stop it, then send."
            return ApiError(409, "answer_open", message)
        case KeyReused():
            message = "This Idempotency-Key belongs to another message. Use a new key for each message."
            return ApiError(422, "key_reused", message)
        case CannotFork():
            return ApiError(400 if error.field else 409, error.code, str(error), error.field)
        case CannotRerun():
            return ApiError(409, error.code, str(error))
        case TraceFileError():
            return ApiError(409, "trace_unreadable", f"The saved trace is damaged and cannot be read: {error}")
        case TokenizerError() | TemplateError():
            return ApiError(503, "model_unavailable", str(error))
    return None
