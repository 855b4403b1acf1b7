"""Errors of the native API in one JSON form, with advice. Knows nothing of the causes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import REASON_NO_CSRF_COOKIE
from django.shortcuts import render
from django.views import defaults

from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.families import is_of_family
from webapp.ground.gateway.refusal import Refusal
from webapp.ground.gateway.structs import Result


class FieldProblem(Result, omit_defaults=True):
    """One thing that is wrong."""

    message: str
    field: str | None = None
    """The wrong field; absent: no single field is wrong."""


class ApiProblem(Result, omit_defaults=True):
    """The reason of a refusal. Message and field are those of the first problem."""

    code: str
    """Stable word for programs."""
    message: str
    field: str | None = None
    problems: tuple[FieldProblem, ...] = ()
    """All problems, the first included; absent: there is only one."""


class ErrorAnswer(Result):
    """The answer to a request that is refused."""

    error: ApiProblem


class ApiError(Exception):
    """An error answer."""

    def __init__(self, status: int, code: str, message: str, field: str | None = None, retry_after_s: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.retry_after_s = retry_after_s
        self.problems: tuple[FieldProblem, ...] = (FieldProblem(message=message, field=field or None),)
        """This problem and the others that all_of collects."""

    @classmethod
    def of(cls, refusal: Refusal) -> ApiError:
        """The error answer of a refusal."""
        return cls(refusal.status, refusal.api_code, refusal.words, refusal.field, refusal.retry_after_s)

    def response(self) -> HttpResponse:
        problems = self.problems if len(self.problems) > 1 else ()
        first = self.problems[0]
        problem = ApiProblem(code=self.code, message=first.message, field=first.field, problems=problems)
        response = json_response(ErrorAnswer(error=problem), self.status)
        if self.retry_after_s:
            response["Retry-After"] = str(self.retry_after_s)
        return response


def all_of(errors: Sequence[ApiError]) -> ApiError:
    """Return the first error with the problems of all, so that a user can fix them at once."""
    first = errors[0]
    first.problems = tuple(problem for error in errors for problem in error.problems)
    return first


def not_found(what: str) -> ApiError:
    """The 404 answer, also for objects that belong to another user."""
    return ApiError(404, "not_found", f"There is no such {what}.")


View = Callable[..., HttpResponseBase]


def check_caller(request: HttpRequest, methods: Sequence[str]) -> None:
    """Check the method and the sign-in. Raises ApiError."""
    if request.method not in methods:
        raise ApiError(405, "method_not_allowed", f"Use {' or '.join(methods)} here.")
    if not request.user.is_authenticated:
        raise not_signed_in()


def not_signed_in() -> ApiError:
    """The 401 answer."""
    return ApiError(401, "not_signed_in", "Sign in first, then send the request again.")


def user_id(request: HttpRequest) -> int:
    """The signed-in user of an operation."""
    assert request.user.pk is not None
    return request.user.pk


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's hook for a missing or wrong CSRF token. The API names a missing sign-in first."""
    if is_api(request):
        if not request.user.is_authenticated:
            return not_signed_in().response()
        return ApiError(
            403, "csrf", "The X-CSRFToken header must have the value of the csrftoken cookie. Reload the page."
        ).response()
    page = "no_cookies.html" if reason == REASON_NO_CSRF_COOKIE else "form_expired.html"
    return render(request, page, status=403)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's hook for requests that it refuses itself."""
    if is_api(request):
        return ApiError(400, "invalid", "The server cannot read this request.").response()
    return defaults.bad_request(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's hook for an unknown address."""
    if is_api(request):
        return not_found("address").response()
    return defaults.page_not_found(request, exception)


def is_api(request: HttpRequest) -> bool:
    """True: the answer is JSON for a program, and no page."""
    return request.path.startswith("/api/") or is_of_family(request.path)
