"""Views of an API family: the method, the key, and each of the site's exceptions as the family's error."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from inference.protocol.events import Limit
from webapp.api.doors import check_door
from webapp.api.view import refusal_of
from webapp.ground.audit.actor import acting
from webapp.ground.gateway.errors import ApiError, View, not_signed_in, user_id
from webapp.ground.gateway.timing import ServerTiming
from webapp.identity.keys.middleware import key_of
from webapp.lifecycle.admission import Limits
from webapp.lifecycle.start import Arrival, sent_call
from webapp.models.registry.offered import NotOffered
from webapp.requests.models import Request
from webapp.traces.recordings.turns import NAME, NAME_IN_WORDS
from webapp.usage.limits.refusal import Refused

logger = logging.getLogger(__name__)

TRACE = "Sightglass-Trace"
"""Header: the addresses of the traces of a call's requests, separated by commas."""

Function = Callable[..., Coroutine[Any, Any, HttpResponseBase]]


@dataclass(frozen=True)
class Family:
    """A family's own forms."""

    surface: str
    id_header: str
    """The header with the id of the HTTP request."""
    error_response: Callable[[ApiError, str], HttpResponse]
    """The answer to a refused request. Takes the id of the HTTP request."""
    limit_headers: Callable[[Iterable[Limit]], dict[str, str]]
    """The headers that tell the state of the limits."""


def view(family: Family, **functions: Function) -> View:
    """Make the Django view of an address from the coroutines of its methods: `view(OPENAI, POST=create_chat)`.

    A caller needs a key. Each of the site's exceptions becomes the family's error.
    """

    async def run(request: HttpRequest, **parameters: Any) -> HttpResponseBase:
        request_id = f"req_{uuid4().hex}"
        start = time.perf_counter_ns()
        try:
            _check_method(request, list(functions))
            await sync_to_async(_check_key)(request)
            await sync_to_async(check_door)(request)
            _name_recording(request, parameters.pop("recording", None))
            with acting(user_id(request)):
                response = await functions[request.method or ""](request, **parameters)
            limits: Limits = getattr(response, "limits", ())
        except Exception as error:
            response = _refused(family, error, request_id)
            if response.status_code == 405:
                response["Allow"] = ", ".join(functions)
            limits = error.limits if isinstance(error, Refused) else ()
        _add_trace(response, request)
        response[family.id_header] = request_id
        for name, value in family.limit_headers(limits).items():
            response[name] = value
        if family.surface == "openai":
            response["openai-processing-ms"] = str((time.perf_counter_ns() - start) // 1_000_000)
        return response

    run.csrf_exempt = True  # type: ignore[attr-defined]  # a key is no cookie: no other site's page can send it
    run.by_family = {family.surface: functions}  # type: ignore[attr-defined]  # for the OpenAPI document
    return run  # type: ignore[return-value]  # the stubs of Django's `path` know no view that waits


def _check_method(request: HttpRequest, methods: Sequence[str]) -> None:
    if request.method not in methods:
        raise ApiError(405, "method_not_allowed", f"Use {' or '.join(methods)} here.")


def _check_key(request: HttpRequest) -> None:
    """Raises ApiError."""
    refused = getattr(request, "key_refused", None)
    if refused is not None:
        raise ApiError(401, refused.code, refused.message)
    if not request.user.is_authenticated:
        raise ApiError(401, not_signed_in().code, "Send an API key as `Authorization: Bearer …` or `x-api-key: …`.")


def _name_recording(request: HttpRequest, name: str | None) -> None:
    """Note the recording that the address names. Raises ApiError."""
    if name is not None and not NAME.fullmatch(name):
        raise ApiError(400, "invalid", f"{NAME_IN_WORDS}.")
    request.recording = name  # type: ignore[attr-defined]  # for the request's Arrival


def _refused(family: Family, error: Exception, request_id: str) -> HttpResponse:
    refusal = _refusal_of(error)
    if refusal is None:
        logger.error("an operation of the %s API failed", family.surface, exc_info=error)
        message = "Something went wrong here; the server's log has the details. Try again."
        refusal = ApiError(500, "internal", message)
    return family.error_response(refusal, request_id)


def _refusal_of(error: Exception) -> ApiError | None:
    """As of the native API, but for a model that is switched off: clients of both families repeat a 409 in vain."""
    if isinstance(error, NotOffered):
        return ApiError(404, "unknown_model", str(error), "model")
    return refusal_of(error)


def note_begun(http: HttpRequest, requests: Sequence[Request]) -> None:
    """Note the requests that a call has begun: its answer names their traces also where it is a refusal."""
    http.begun = requests  # type: ignore[attr-defined]


def _add_trace(response: HttpResponseBase, http: HttpRequest) -> None:
    """Add the headers of `traced` to the refusal of a call that began requests."""
    if (begun := getattr(http, "begun", None)) and TRACE not in response:
        response[TRACE] = _addresses(http, begun)
        http.timing.apply(response)  # type: ignore[attr-defined]


def _addresses(http: HttpRequest, requests: Sequence[Request]) -> str:
    return ", ".join(http.build_absolute_uri(f"/requests/{each.pk}") for each in requests)


def arrival_of(http: HttpRequest, timing: ServerTiming, surface: str) -> Arrival:
    http.timing = timing  # type: ignore[attr-defined]  # for a refusal after the call began
    version = getattr(http, "scope", {}).get("http_version")
    return Arrival(
        received_unix_us=timing.received_unix_us,
        surface=surface,
        http_version=version,
        api_key=key_of(http),
        recording=getattr(http, "recording", None),
        sent=sent_call(http.path, http.body),
    )


def traced(
    response: HttpResponseBase,
    http: HttpRequest,
    requests: Sequence[Request],
    timing: ServerTiming,
    limits: Limits = (),
) -> Any:
    """Add the headers that every answer of a model has: its trace, its timing, and the limits of a call that began."""
    response.limits = limits  # type: ignore[attr-defined]  # the view writes them in the family's form
    response[TRACE] = _addresses(http, requests)
    return timing.apply(response)  # type: ignore[arg-type]
