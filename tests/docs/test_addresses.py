"""The API's OpenAPI document, its TypeScript and its tables are those of the running site."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, get_resolver

from inference.protocol.json_schema import build_schema
from webapp.api.docs import openapi
from webapp.api.docs.families import family_routes
from webapp.api.docs.generate import stale_files

STREAMS = {
    "api/docs", "api/openapi.json", "api/protocol.schema.json", "api/requests/<str:request_id>/events",
}  # fmt: skip
"""Addresses below /api/ that are no operations: three descriptions, and the stream that docs/wire.md describes."""


@pytest.mark.slow
def test_the_committed_files_are_those_of_the_operations() -> None:
    assert stale_files() == [], "run python -m webapp.api.docs.generate"


def test_every_address_of_the_api_is_made_of_operations() -> None:
    patterns = [each for each in get_resolver().url_patterns if isinstance(each, URLPattern)]
    others = {str(each.pattern) for each in patterns if not hasattr(each.callback, "operations")}
    assert {each for each in others if each.startswith("api/")} == STREAMS


def test_every_operation_says_what_it_does() -> None:
    assert [route.key for route in openapi.routes() if not route.description] == []


def test_each_reference_of_the_document_leads_to_a_schema() -> None:
    document = openapi.build_openapi()
    schemas = document["components"]["schemas"]

    def check(value: Any) -> None:
        if isinstance(value, dict):
            if "$ref" in value:
                assert value["$ref"].removeprefix("#/components/schemas/") in schemas
            for each in value.values():
                check(each)
        elif isinstance(value, list):
            for each in value:
                check(each)

    check(document)


def test_inherited_fields_are_described_too() -> None:
    schemas = openapi.build_openapi()["components"]["schemas"]
    assert schemas["RequestSummary"]["properties"]["first_text_us"]["description"]
    assert schemas["PlacedRequest"]["properties"]["first_text_us"]["description"]


def test_no_line_of_a_description_is_indented() -> None:
    """Python 3.13 takes the indentation out of docstrings, and earlier ones leave it in."""
    schemas = openapi.build_openapi()["components"]["schemas"].values()
    assert [each for each in schemas if "\n " in each.get("description", "")] == []


@pytest.mark.django_db
def test_the_document_is_served() -> None:
    served = Client().get("/api/openapi.json")
    assert served.status_code == 200
    assert served.json() == json.loads(json.dumps(openapi.build_openapi()))


@pytest.mark.django_db
def test_the_schema_of_the_events_is_served() -> None:
    served = Client().get("/api/protocol.schema.json")
    assert served.status_code == 200
    assert served.json() == json.loads(json.dumps(build_schema()))


@pytest.mark.django_db
def test_the_viewer_is_for_signed_in_users() -> None:
    refused = Client().get("/api/docs")
    assert (refused.status_code, refused["Location"]) == (302, "/accounts/login/?next=/api/docs")


def test_every_operation_of_the_families_is_described() -> None:
    """At least by its first sentence and the structs of its answer."""
    found = family_routes()
    assert {each.family for each in found} == {"openai", "anthropic"}
    assert [each for each in found if not each.function.__doc__ or each.described.answers is None] == []
    paths = openapi.build_openapi()["paths"]
    assert {each.path for each in found} == {path for path in paths if path.startswith("/v1/")}
