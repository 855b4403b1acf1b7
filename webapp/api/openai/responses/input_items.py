"""`GET /v1/responses/{id}/input_items`: the input of a stored response, item by item."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from webapp.api.families.described import described
from webapp.api.openai.responses.history import body_of
from webapp.api.openai.responses.views import find
from webapp.ground.gateway.answer import json_response
from webapp.ground.gateway.body import read_query
from webapp.ground.gateway.errors import ApiError
from webapp.requests.models import Request

_PREFIXES = {"function_call": "fc", "function_call_output": "fco"}


class ItemsQuery(msgspec.Struct):
    """Which items, and in which order."""

    after: str | None = None
    before: str | None = None
    limit: int = 20
    order: Literal["asc", "desc"] = "desc"


class ItemList(msgspec.Struct):
    data: list[dict[str, Any]]
    first_id: str | None
    last_id: str | None
    has_more: bool
    object: str = "list"


@described(ItemList, query=ItemsQuery)
async def list_input_items(http: HttpRequest, response_id: str) -> HttpResponseBase:
    """List the items of a stored response's own input."""
    query = read_query(http, ItemsQuery)
    if not 1 <= query.limit <= 100:
        raise ApiError(400, "invalid", "limit must be from 1 to 100.", "limit")
    stored = await sync_to_async(find)(http, response_id)
    items = _items(stored.request, body_of(stored).input)
    return json_response(_page(items if query.order == "asc" else items[::-1], query))


def _page(items: list[dict[str, Any]], query: ItemsQuery) -> ItemList:
    ids = [each["id"] for each in items]
    start = ids.index(query.after) + 1 if query.after in ids else 0
    end = ids.index(query.before) if query.before in ids else len(items)
    page = items[start : min(end, start + query.limit)]
    has_more = start + len(page) < end
    return ItemList(page, page[0]["id"] if page else None, page[-1]["id"] if page else None, has_more)


def _items(request: Request, given: str | tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    items = ({"role": "user", "content": given},) if isinstance(given, str) else given
    return [_item(each, f"{request.pk.removeprefix('req_')}_in{index}") for index, each in enumerate(items)]


def _item(given: dict[str, Any], name: str) -> dict[str, Any]:
    kind = given.get("type") or ("message" if "role" in given else "item_reference")
    item = {"status": "completed"} | given | {"type": kind}
    item["id"] = given.get("id") or f"{_PREFIXES.get(kind, 'msg')}_{name}"
    if isinstance(item.get("content"), str):
        part = "output_text" if item.get("role") == "assistant" else "input_text"
        own: dict[str, Any] = {"annotations": []} if part == "output_text" else {}
        item["content"] = [{"type": part, "text": item["content"]} | own]
    return item
