"""The secret in a request's headers: one of two headers, read without a fault whatever they hold."""

from __future__ import annotations

import pytest
from django.utils.datastructures import CaseInsensitiveMapping
from hypothesis import given
from hypothesis import strategies as st

from webapp.ground.gateway.credentials import secret_of
from webapp.ground.gateway.errors import ApiError

TEXTS = st.text(st.characters(max_codepoint=255), max_size=60)


def secret(**headers: str) -> str | None:
    return secret_of(CaseInsensitiveMapping({name.replace("_", "-"): text for name, text in headers.items()}))


def test_either_header_has_it() -> None:
    assert secret() is None
    assert secret(authorization="Bearer abc") == secret(AUTHORIZATION="bEARER   abc ") == "abc"
    assert secret(X_API_KEY=" abc ") == "abc"
    assert secret(x_api_key="abc", authorization="Bearer abc") == "abc"


def test_another_scheme_is_no_key() -> None:
    assert secret(authorization="Basic YWJj") is None
    assert secret(authorization="Bearerabc") is None
    assert secret(authorization="Basic YWJj", x_api_key="abc") == "abc"


def test_an_empty_key_is_a_wrong_one_and_not_none() -> None:
    """A program whose variable is empty must not go on under a cookie."""
    assert secret(authorization="Bearer ") == secret(authorization="Bearer") == secret(x_api_key="") == ""


def test_two_different_keys_are_refused_without_being_named() -> None:
    for one, other in (("abc", "abd"), ("abc", ""), ("", "abc")):
        with pytest.raises(ApiError) as refused:
            secret(authorization=f"Bearer {one}", x_api_key=other)
        assert (refused.value.status, refused.value.code) == (401, "two_keys")
        assert "abc" not in refused.value.message


@given(TEXTS, TEXTS)
def test_any_headers_are_read(authorization: str, x_api_key: str) -> None:
    try:
        found = secret(authorization=authorization, x_api_key=x_api_key)
    except ApiError:
        return
    assert found == x_api_key.strip()
