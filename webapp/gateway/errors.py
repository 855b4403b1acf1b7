"""Errors of the native API in one JSON form, with advice. Knows nothing of the causes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views import defaults


class ApiError(Exception):
    """An error answer."""

    def __init__(self, status: int, code: str, message: str, field: str | None = None, retry_after_s: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.retry_after_s = retry_after_s
        self.problems = [{"message": message} | ({"field": field} if field else {})]
        """This problem and the others that all_of collects."""

    def response(self) -> JsonResponse:
        error: dict[str, Any] = {"code": self.code, **self.problems[0]}
        if len(self.problems) > 1:
            error["problems"] = self.problems
        response = JsonResponse({"error": error}, status=self.status)
        if self.retry_after_s:
            response["Retry-After"] = str(self.retry_after_s)
        return response


def all_of(errors: Sequence[ApiError]) -> ApiError:
    """Return the first error with the problems of all, so that a user can fix them at once."""
    first = errors[0]
    first.problems = [problem for error in errors for problem in error.problems]
    return first


def not_found(what: str) -> ApiError:
    """The 404 answer, also for objects that belong to another user."""
    return ApiError(404, "not_found", f"There is no such {what}.")


def too_many_open(why: str) -> ApiError:
    """The 429 answer: the user has reached the limit of open requests, which end within seconds."""
    return ApiError(429, "too_many_requests", why, retry_after_s=5)


View = Callable[..., HttpResponseBase]


def api(*methods: str) -> Callable[[View], View]:
    """Make a JSON view for signed-in users: check method and sign-in, turn ApiError into its response."""

    def decorate(view: View) -> View:
        @wraps(view)
        def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                _check(request, methods)
                return view(request, *args, **kwargs)
            except ApiError as error:
                response = error.response()
                if error.status == 405:
                    response["Allow"] = ", ".join(methods)
                return response

        return wrapped

    return decorate


def _check(request: HttpRequest, methods: tuple[str, ...]) -> None:
    if request.method not in methods:
        raise ApiError(405, "method_not_allowed", f"Use {' or '.join(methods)} here.")
    if not request.user.is_authenticated:
        raise ApiError(401, "not_signed_in", "Sign in first, then send the request again.")


def user_id(request: HttpRequest) -> int:
    """The signed-in user of an @api view."""
    assert request.user.pk is not None
    return request.user.pk


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's hook for a missing or wrong CSRF token."""
    if _is_api(request):
        return ApiError(
            403, "csrf", "The X-CSRFToken header must have the value of the csrftoken cookie. Reload the page."
        ).response()
    return render(request, "form_expired.html", status=403)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's hook for requests that it refuses itself."""
    if _is_api(request):
        return ApiError(400, "invalid", "The server cannot read this request.").response()
    return defaults.bad_request(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's hook for an unknown address."""
    if _is_api(request):
        return not_found("address").response()
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's hook for an uncaught exception, which Django has logged."""
    if _is_api(request):
        message = "Something went wrong here; the server's log has the details. Try again."
        return ApiError(500, "internal", message).response()
    return defaults.server_error(request)


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")
