"""No log holds a key, the part of an address that opens a trace or signs a user in, or the words of a search."""

from __future__ import annotations

import logging

import pytest

from webapp.private_log import LineFormatter, path_without_secrets

SECRET = "A1b" * 14 + "z"
"""The part of a key that is not shown."""


@pytest.mark.parametrize(
    ("path", "logged"),
    [
        ("/shared/s3cret", "/shared/***"),
        ("/signin/s3cret?next=s3cret", "/signin/***?***"),
        ("/%73hared%2Fs3cret", "/shared/***"),
        ("/%0A/shared/s3cret", "/%0A/shared/***"),
        ("/shared/", "/shared/"),
        (f"/v1/sg-abcdefgh{SECRET}/x", "/v1/sg-abcdefgh***/x"),
        (f"/%73g-abcdefgh{SECRET}", "/sg-abcdefgh***"),
        ("/c/sg-abcdefgh", "/c/sg-abcdefgh"),
        ("/api/shares%205?a=%20b", "/api/shares%205?***"),
    ],
)
def test_a_path_is_cut_after_what_is_no_secret(path: str, logged: str) -> None:
    assert path_without_secrets(path) == logged


def test_a_message_that_names_the_address_is_cut_too() -> None:
    record = logging.LogRecord("django.request", logging.WARNING, "", 1, "Not Found: %s", ("/shared/s3cret",), None)
    assert LineFormatter("%(levelname)s %(message)s").format(record) == "WARNING Not Found: /shared/***"
