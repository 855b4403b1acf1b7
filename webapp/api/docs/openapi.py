"""The OpenAPI 3.1 document of the API, made from the operations of every address.

Specification: https://spec.openapis.org/oas/v3.1.0. Knows nothing of what an operation does.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import msgspec
from django.urls import URLPattern, get_resolver

from inference.protocol.docstrings import field_docstrings
from inference.protocol.json_schema import build_schema, components_of
from webapp.api.docs.families import family_paths, family_schemas
from webapp.api.site import VERSION
from webapp.ground.gateway.errors import ErrorAnswer
from webapp.ground.gateway.idempotency import HEADER, REPLAYED
from webapp.ground.gateway.operation import Operation
from webapp.ground.gateway.structs import Body, Query, Result
from webapp.identity.keys.reach import features_for

_PARAMETER = re.compile(r"<(str|int):(\w+)>")
_KINDS = {"str": {"type": "string"}, "int": {"type": "integer"}}
_REFERENCE = "#/components/schemas/{name}"
_ABOUT = """A program sends a key: `Authorization: Bearer …`, or `x-api-key`. A key does not reach the operations that
name the scheme `session` alone. A page has a session, which is a cookie: it sends the `csrftoken` cookie's value as
`X-CSRFToken` with every call that writes. Times ending in `_us` are microseconds. Costs ending in `_nano` are
billionths of the currency's unit. A figure that is not known is null. An object of another user is a 404."""
_KEY = f"""Makes the call safe to send again: what it begins is begun once under a key of the client's choice. A repeat
has the first result, and the header `{REPLAYED}: true`. Another call under the key is refused with 422 `key_reused`.
Keys are kept for seven days."""
_FIRST_CALL = """Make a key at `/account`, or with `manage.py create_key` on the server. A first call:"""
_FIRST_LINES = """\
key=$(.venv/bin/python manage.py create_key admin --name first)
curl -s -H "Authorization: Bearer $key" http://127.0.0.1:8000/api/session
curl -s -H "Authorization: Bearer $key" -d '{}' http://127.0.0.1:8000/api/conversations"""
_SESSION, _BY_KEY = "session", "key"
_SCHEMES = {
    _SESSION: {"type": "apiKey", "in": "cookie", "name": "sessionid", "description": "A sign-in in a browser."},
    _BY_KEY: {"type": "http", "scheme": "bearer", "description": "A key of `/account`."},
}


@dataclass(frozen=True)
class Route:
    """One operation at its address."""

    method: str
    path: str
    """With parameters in braces: `/api/requests/{request_id}`."""
    parameters: tuple[tuple[str, str], ...]
    """Kind and name of each parameter of the path."""
    operation: Operation
    is_for_keys: bool
    """False: it needs a sign-in."""

    @property
    def key(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def section(self) -> str:
        """The resource: the path's first name after `/api/`."""
        return self.path.split("/")[2]

    @property
    def description(self) -> str:
        return " ".join((self.operation.function.__doc__ or "").split())

    @property
    def is_json(self) -> bool:
        return is_json(self.operation)


def routes() -> list[Route]:
    """Every operation of the site, in the order of its addresses."""
    patterns = get_resolver().url_patterns
    return [route for pattern in patterns if isinstance(pattern, URLPattern) for route in _routes_of(pattern)]


def _routes_of(pattern: URLPattern) -> Iterator[Route]:
    address = str(pattern.pattern)
    parameters = tuple((str(kind), str(name)) for kind, name in _PARAMETER.findall(address))
    path = "/" + _PARAMETER.sub(r"{\2}", address)
    operations: dict[str, Operation] = getattr(pattern.callback, "operations", {})
    for method, operation in operations.items():
        yield Route(method, path, parameters, operation, bool(features_for(address, method)))


def is_json(operation: Operation) -> bool:
    """True if the operation answers with JSON or nothing, and not with a file."""
    return operation.media == "application/json" and (operation.answer is type(None) or _is_described(operation.answer))


def _is_described(kind: Any) -> bool:
    return bool(get_args(kind)) or (isinstance(kind, type) and issubclass(kind, msgspec.Struct))


def build_components(found: list[Route]) -> dict[str, dict[str, Any]]:
    """JSON Schema of every struct that an operation reads or answers with, by name."""
    kinds: list[Any] = [ErrorAnswer]
    for route in found:
        kinds += route.operation.inputs.values()
        if route.is_json and route.operation.answer is not type(None):
            kinds += options_of(route.operation.answer)
    _, components = components_of(kinds, _REFERENCE)
    protocol = build_schema()["$defs"]
    for name, component in components.items():
        if name in protocol:  # with descriptions and ranges
            components[name] = _relocated(protocol[name])
        elif "properties" in component:
            _describe(name, component)
    return dict(sorted(components.items()))


def options_of(kind: Any) -> tuple[type[Any], ...]:
    """The structs of a union; of a struct, itself."""
    return get_args(kind) or (kind,)


def _relocated(schema: Any) -> Any:
    """The protocol's schema with references that lead to the document's components."""
    if isinstance(schema, dict):
        return {
            name: value.replace("#/$defs/", "#/components/schemas/") if name == "$ref" else _relocated(value)
            for name, value in schema.items()
        }
    return [_relocated(each) for each in schema] if isinstance(schema, list) else schema


def _describe(name: str, component: dict[str, Any]) -> None:
    """Add the docstrings of the struct's fields, inherited ones too."""
    ours = [kind for kind in struct_of(name).__mro__ if kind.__module__.startswith(("webapp.", "inference."))]
    for kind in reversed(ours):
        for (owner, field), text in field_docstrings(sys.modules[kind.__module__]).items():
            if owner == kind.__name__ and field in component["properties"]:
                component["properties"][field]["description"] = " ".join(text.split())


def struct_of(name: str) -> type[msgspec.Struct]:
    """The struct of a component. Raises LookupError when none has the name, or several."""
    found = {kind for kind in _subclasses(msgspec.Struct) if kind.__name__ == name and _is_ours(kind)}
    if len(found) != 1:
        raise LookupError(f"{len(found)} structs are named {name}: each needs a name of its own")
    return found.pop()


def _is_ours(kind: type) -> bool:
    return issubclass(kind, Body | Query | Result) or kind.__module__.startswith(("webapp.surfaces.runs", "inference."))


def _subclasses(kind: type) -> Iterator[type[Any]]:
    below: type[Any]
    for below in kind.__subclasses__():
        yield below
        yield from _subclasses(below)


def build_openapi() -> dict[str, Any]:
    """Return the document. Raises LookupError for two structs or two operations of one name."""
    found = routes()
    names = [route.operation.name for route in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise LookupError(f"two operations are named {', '.join(sorted(twice))}: each needs a name of its own")
    paths: dict[str, dict[str, Any]] = {}
    for route in found:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    schemas = build_components(found) | family_schemas()
    return {
        "openapi": "3.1.0",
        "info": {"title": "Sightglass", "version": VERSION, "description": _description()},
        "paths": paths | family_paths(_key_parameter()),
        "components": {"schemas": schemas, "securitySchemes": _SCHEMES},
    }


def _description() -> str:
    """Markdown: the rules of every call, and a first call from a shell."""
    about, first_call = (" ".join(text.split()) for text in (_ABOUT, _FIRST_CALL))
    return f"{about}\n\n{first_call}\n\n```sh\n{_FIRST_LINES}\n```"


def _operation(route: Route) -> dict[str, Any]:
    operation, description = route.operation, route.description
    summary, _, _ = description.partition(". ")
    document: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [route.section],
        "summary": summary.rstrip("."),
        "description": description,
        "parameters": _parameters(route),
        "security": [{scheme: []} for scheme in ((_SESSION, _BY_KEY) if route.is_for_keys else (_SESSION,))],
        "responses": {str(status): _answer(route) for status in operation.statuses},
    }
    document["responses"]["default"] = {
        "description": "A refusal",
        "content": {"application/json": {"schema": _schema(ErrorAnswer)}},
    }
    if content := _content(operation):
        document["requestBody"] = {"required": True, "content": content}
    return document


def _parameters(route: Route) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _KINDS[kind]} for kind, name in route.parameters
    ]
    found += [_key_parameter()] if route.operation.takes_key else []
    query = route.operation.inputs.get("query")
    if query is None:
        return found
    _, components = components_of([query])
    component = components[query.__name__]
    _describe(query.__name__, component)
    for name, schema in component["properties"].items():
        description = {"description": schema.pop("description")} if "description" in schema else {}
        found.append({"name": name, "in": "query", "required": False, "schema": schema} | description)
    return found


def _key_parameter() -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"}
    about = " ".join(_KEY.split())
    return {"name": HEADER, "in": "header", "required": False, "schema": schema, "description": about}


def _content(operation: Operation) -> dict[str, Any]:
    """The forms that the operation's body takes; empty: it has none."""
    if operation.takes_file:
        file = {"type": "string", "format": "binary"}
        return {
            "multipart/form-data": {"schema": {"type": "object", "properties": {"file": file}, "required": ["file"]}}
        }
    if "form" in operation.inputs:
        return {"application/x-www-form-urlencoded": {"schema": _schema(operation.inputs["form"])}}
    if "body" in operation.inputs:
        return {"application/json": {"schema": _schema(operation.inputs["body"])}}
    return {}


def _answer(route: Route) -> dict[str, Any]:
    operation = route.operation
    if operation.answer is type(None):
        return {"description": "Done"}
    if not route.is_json:
        return {"description": "The file", "content": {operation.media: {}}}
    return {"description": "The answer", "content": {"application/json": {"schema": _schema(operation.answer)}}}


def _schema(kind: Any) -> dict[str, Any]:
    found = [{"$ref": _REFERENCE.format(name=option.__name__)} for option in options_of(kind)]
    return found[0] if len(found) == 1 else {"anyOf": found}
