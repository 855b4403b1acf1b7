"""Errors are a page with advice for a person, and JSON for a program."""

from __future__ import annotations

import json
import sqlite3

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client, RequestFactory

from webapp.ground.gateway.faults import server_error


def test_a_page_that_fails_leads_back_to_the_chat() -> None:
    response = server_error(RequestFactory().get("/library"))
    assert response.status_code == 500
    assert "Something went wrong here" in response.content.decode()
    assert 'href="/"' in response.content.decode()


def test_a_call_that_fails_answers_in_json() -> None:
    response = server_error(RequestFactory().get("/api/session"))
    assert (response.status_code, json.loads(response.content)["error"]["code"]) == (500, "internal")


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_CANTOPEN"])
def test_a_database_without_room_is_named_as_the_reason(client: Client, name: str) -> None:
    client.force_login(User.objects.create_user("ann"))
    client.raise_request_exception = False

    def refuse(*_arguments: object) -> None:
        cause = sqlite3.OperationalError("database or disk is full")
        cause.sqlite_errorname = name
        raise OperationalError(str(cause)) from cause

    with connection.execute_wrapper(refuse):
        response = client.post("/api/conversations", {}, content_type="application/json")
    assert (response.status_code, response.json()["error"]["code"]) == (503, "database_unavailable")
    assert int(response["Retry-After"]) > 0


@pytest.mark.django_db
def test_an_expired_form_says_what_to_do() -> None:
    client = Client(enforce_csrf_checks=True)
    client.get("/accounts/login/")
    response = client.post("/accounts/login/", {"username": "a", "password": "b"})
    assert response.status_code == 403
    assert "Go back, reload the page" in response.content.decode()


@pytest.mark.django_db
def test_a_form_from_a_browser_without_cookies_says_what_to_do() -> None:
    response = Client(enforce_csrf_checks=True).post("/accounts/login/", {"username": "a", "password": "b"})
    assert response.status_code == 403
    assert "Allow cookies" in response.content.decode()


def test_an_address_that_nobody_can_read_is_told_on_a_page(client: Client) -> None:
    response = client.get("/c/%00")
    assert response.status_code == 400
    assert "The server cannot read this request" in response.content.decode()
