"""Below /v1/ the middleware leaves the answer to the family's edge: it tells user, key and refusal."""

from __future__ import annotations

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from django.test import RequestFactory

from tests.webapp.identity.keys.programs import expire, new_key
from webapp.identity.keys.middleware import UseKey, key_of

pytestmark = pytest.mark.django_db
PATH = "/v1/chat/completions"


def seen(user: User | AnonymousUser, path: str = PATH, **headers: str) -> HttpRequest:
    """The request as a view below the middleware gets it. user: by the cookie."""
    request = RequestFactory().post(path, headers={name.replace("_", "-"): text for name, text in headers.items()})
    request.user = user
    assert UseKey(lambda _: HttpResponse(status=204))(request).status_code == 204
    return request


def needs_no_csrf_token(request: HttpRequest) -> bool:
    def view(_request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=204)

    return CsrfViewMiddleware(view).process_view(request, view, (), {}) is None


@pytest.fixture
def bob() -> User:
    return User.objects.create_user("bob")


def test_a_key_is_the_requests_user_and_needs_no_csrf_token(bob: User) -> None:
    new = new_key()
    request = seen(bob, x_api_key=new.secret)
    assert request.user == new.key.user and key_of(request) == new.key
    assert request.key_refused is None  # type: ignore[attr-defined]
    assert needs_no_csrf_token(request)


def test_a_view_that_waits_finds_the_same_user(bob: User) -> None:
    new = new_key()
    assert async_to_sync(seen(bob, x_api_key=new.secret).auser)() == new.key.user
    assert not async_to_sync(seen(bob).auser)().is_authenticated


def test_a_refused_key_is_told_and_no_user_is_left(bob: User) -> None:
    new = new_key()
    expire(new.key)
    for sent, code in ((new.secret, "expired_key"), ("sg-wrong", "unknown_key"), ("", "unknown_key")):
        request = seen(bob, Authorization=f"Bearer {sent}")
        assert request.key_refused.code == code  # type: ignore[attr-defined]
        assert not request.user.is_authenticated and key_of(request) is None


def test_two_different_keys_are_told(bob: User) -> None:
    request = seen(bob, Authorization=f"Bearer {new_key().secret}", x_api_key=new_key().secret)
    assert request.key_refused.code == "two_keys"  # type: ignore[attr-defined]
    assert not request.user.is_authenticated


def test_a_cookie_alone_is_no_sign_in(bob: User) -> None:
    request = seen(bob)
    assert not request.user.is_authenticated and request.key_refused is None  # type: ignore[attr-defined]
    assert needs_no_csrf_token(request)


@pytest.mark.parametrize("path", ["/", "/account", "/healthz", "/apiary/", "/v10/x"])
def test_elsewhere_a_key_counts_for_nothing(bob: User, path: str) -> None:
    request = seen(bob, path, x_api_key=new_key().secret)
    assert request.user == bob and key_of(request) is None and not needs_no_csrf_token(request)
