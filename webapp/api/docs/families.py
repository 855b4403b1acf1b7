"""The operations below `/v1/` in the OpenAPI document, which two families share. Knows nothing of what one does.

A schema's name begins with its family's: both have a Message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from django.urls import URLPattern, URLResolver, get_resolver

from inference.protocol.json_schema import components_of
from webapp.api.anthropic.errors import ErrorAnswer as AnthropicErrorAnswer
from webapp.api.families.described import Described, description_of
from webapp.api.openai.errors import ErrorAnswer as OpenAIErrorAnswer

_BELOW = "/v1/"
_PARAMETER = re.compile(r"<(?:str|path):(\w+)>")
_ERRORS: dict[str, type[msgspec.Struct]] = {"openai": OpenAIErrorAnswer, "anthropic": AnthropicErrorAnswer}


@dataclass(frozen=True)
class FamilyRoute:
    """One operation of a family at its address."""

    family: str
    method: str
    path: str
    """With parameters in braces."""
    parameters: tuple[str, ...]
    function: Callable[..., Any]

    @property
    def described(self) -> Described:
        return description_of(self.function)

    @property
    def kinds(self) -> list[type[msgspec.Struct]]:
        """The structs of the operation."""
        found = self.described
        return [each for each in (found.takes, found.answers, _ERRORS[self.family]) if each is not None]


def family_routes() -> list[FamilyRoute]:
    """Every operation below /v1/, in the order of its addresses."""
    return [
        route
        for address, callback in _addresses(get_resolver().url_patterns, "/")
        if address.startswith(_BELOW)
        for route in _routes_of(address, callback)
    ]


def _addresses(patterns: Iterable[Any], before: str) -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        address = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _addresses(pattern.url_patterns, address)
        elif isinstance(pattern, URLPattern):
            yield address, pattern.callback


def _routes_of(address: str, callback: Any) -> Iterator[FamilyRoute]:
    path, parameters = _PARAMETER.sub(r"{\1}", address), tuple(_PARAMETER.findall(address))
    for family, functions in getattr(callback, "by_family", {}).items():
        for method, function in functions.items():
            yield FamilyRoute(family, method, path, parameters, function)


def family_paths(key_parameter: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The document's paths. key_parameter: that of the Idempotency-Key."""
    paths: dict[str, dict[str, Any]] = {}
    for route in family_routes():
        own, methods = _operation(route, key_parameter), paths.setdefault(route.path, {})
        other = methods.get(route.method.lower())
        methods[route.method.lower()] = own if other is None else _either(other, own)
    return paths


def family_schemas() -> dict[str, Any]:
    """The document's schemas of both families."""
    return {
        f"{family}.{name}": component for family in _ERRORS for name, component in _schemas(family).components.items()
    }


@dataclass(frozen=True)
class _Schemas:
    """The schemas of one family's structs."""

    of_kind: dict[type[msgspec.Struct], dict[str, Any]]
    """A reference for each struct that an operation names. Of two structs with one name each has its module's too."""
    components: dict[str, Any]


@cache
def _schemas(family: str) -> _Schemas:
    kinds = list(dict.fromkeys(kind for route in family_routes() if route.family == family for kind in route.kinds))
    template = f"#/components/schemas/{family}.{{name}}"
    references, components = components_of(kinds, template)
    return _Schemas(dict(zip(kinds, references, strict=True)), components)


def _operation(route: FamilyRoute, key_parameter: dict[str, Any]) -> dict[str, Any]:
    described = route.described
    description = " ".join((route.function.__doc__ or "").split())
    events: dict[str, Any] = {"text/event-stream": {}} if described.is_streamed else {}
    media_type = "application/x-jsonl" if described.is_lines else "application/json"
    answer = {media_type: {"schema": _schema(route, described.answers)}}
    document: dict[str, Any] = {
        "operationId": f"{route.family}_{route.function.__name__}",
        "tags": [route.family],
        "summary": description.partition(". ")[0].rstrip("."),
        "description": description,
        "parameters": [*_parameters(route), *([key_parameter] if described.begins_work else [])],
        "security": [{"key": []}],
        "responses": {
            "200": {"description": "The answer", "content": answer | events},
            "default": {
                "description": "A refusal",
                "content": {"application/json": {"schema": _schema(route, _ERRORS[route.family])}},
            },
        },
    }
    if described.takes is not None:
        body = {"application/json": {"schema": _schema(route, described.takes)}}
        document["requestBody"] = {"required": True, "content": body}
    return document


def _parameters(route: FamilyRoute) -> list[dict[str, Any]]:
    found = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in route.parameters]
    if route.described.query is None:
        return found
    _, components = components_of([route.described.query])
    (query,) = components.values()
    return found + [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in query["properties"].items()
    ]


def _schema(route: FamilyRoute, kind: type[msgspec.Struct] | None) -> dict[str, Any]:
    return {} if kind is None else _schemas(route.family).of_kind[kind]


def _either(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """One address of both families: each client's header chooses the form of the answer."""
    responses = {
        status: {"description": answer["description"], "content": {"application/json": {"schema": {"anyOf": [
            answer["content"]["application/json"]["schema"],
            second["responses"][status]["content"]["application/json"]["schema"],
        ]}}}}
        for status, answer in first["responses"].items()
    }  # fmt: skip
    name = first["operationId"].partition("_")[2]
    return first | {"operationId": f"v1_{name}", "tags": first["tags"] + second["tags"], "responses": responses}
