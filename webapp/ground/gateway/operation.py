"""One operation of the JSON API: a function whose annotations name its body, its query and its answer.

Knows nothing of addresses, and nothing of the site's own exceptions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from webapp.ground.gateway.answer import Answer, json_response
from webapp.ground.gateway.body import read_body, read_file, read_form, read_query
from webapp.ground.gateway.idempotency import REPLAYED, read_key
from webapp.ground.gateway.query import check_names
from webapp.ground.gateway.timing import ServerTiming

Function = TypeVar("Function", bound=Callable[..., Any])

_READERS = {"body": read_body, "query": read_query, "form": read_form}


def answers(*statuses: int, media: str = "application/json") -> Callable[[Function], Function]:
    """Declare the statuses of an operation's answer, the usual one first, and the media type of a file."""

    def decorate(function: Function) -> Function:
        function.answers = (statuses, media)  # type: ignore[attr-defined]
        return function

    return decorate


class Operation:
    """A function `(request, **parameters) -> answer` that is called over HTTP.

    These parameters are filled from the request; all others come from the address:
    - `body`: the JSON body, as the struct that the annotation names
    - `query`: the address's query, as such a struct; unknown parameters are refused, all of them without it
    - `form`: the fields of a posted form, as such a struct
    - `file`: the uploaded file of a multipart body
    - `timing`: a ServerTiming, whose header the response gets
    - `key`: the Idempotency-Key, None without one; for each operation that begins work

    An operation that waits, for a worker or for a server far away, is a coroutine function: it then holds no thread.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        hints = get_type_hints(function)
        self.answer: Any = hints["return"]
        if get_origin(self.answer) is Answer:
            (self.answer,) = get_args(self.answer)
        self.inputs: dict[str, Any] = {name: hints[name] for name in _READERS if name in hints}
        self.takes_file = "file" in hints
        self.takes_key = "key" in hints
        self.waits = iscoroutinefunction(function)
        self._is_timed = "timing" in hints
        usual = (204,) if self.answer is type(None) else (200,)
        declared: tuple[tuple[int, ...], str] = getattr(function, "answers", (usual, "application/json"))
        self.statuses, self.media = declared

    @property
    def name(self) -> str:
        return self.function.__name__

    def __call__(self, request: HttpRequest, **parameters: Any) -> HttpResponseBase:
        """Read the inputs, call the function and encode its answer. Raises ApiError."""
        given = self._given(request, parameters)
        return self._response(self.function(request, **given), given)

    async def wait(self, request: HttpRequest, **parameters: Any) -> HttpResponseBase:
        """The same in an event loop, for an operation that waits. Raises ApiError."""
        given = await sync_to_async(self._given)(request, parameters)
        return self._response(await self.function(request, **given), given)

    def _given(self, request: HttpRequest, parameters: dict[str, Any]) -> dict[str, Any]:
        """The function's parameters: those of the address, and those from the request. Raises ApiError."""
        timing = ServerTiming(request)
        check_names(request, self.inputs.get("query"))
        for name, kind in self.inputs.items():
            parameters[name] = _READERS[name](request, kind)
        if self.takes_key:
            parameters["key"] = read_key(request, self.name, parameters)
        if self._is_timed:
            parameters["timing"] = timing
        if self.takes_file:
            parameters["file"] = read_file(request)
        return parameters

    def _response(self, value: Any, given: dict[str, Any]) -> HttpResponseBase:
        response: HttpResponse = self._encoded(value)
        timing: ServerTiming | None = given["timing"] if self._is_timed else None
        return response if timing is None else timing.apply(response)

    def _encoded(self, value: Any) -> Any:
        if isinstance(value, HttpResponseBase):
            return value
        if value is None:
            return HttpResponse(status=204)
        given = value if isinstance(value, Answer) else Answer(value)
        response = json_response(given.value, given.status or self.statuses[0])
        for name, text in given.headers.items():
            response[name] = text
        if given.is_repeat:
            response[REPLAYED] = "true"
        return response
