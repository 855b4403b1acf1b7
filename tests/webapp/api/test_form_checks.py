"""A check of a form that could not be made is never told as a fault of the form."""

from __future__ import annotations

import json

import pytest

from inference.grammar.check import CheckFailed, ChecksBusy
from webapp.api.view import refusal_of


@pytest.mark.parametrize(
    ("error", "status", "code", "retry_after"),
    [(ChecksBusy(), 429, "busy", "2"), (CheckFailed("it was ended"), 500, "internal", None)],
)
def test_a_check_that_could_not_be_made_is_refused_in_the_wire_format(
    error: Exception, status: int, code: str, retry_after: str | None
) -> None:
    refusal = refusal_of(error)
    assert refusal is not None
    response = refusal.response()
    told = json.loads(response.content)["error"]
    assert (response.status_code, told["code"], response.get("Retry-After")) == (status, code, retry_after)
    assert "ry again" in told["message"] and "field" not in told
