"""The conversation before a response: the inputs and answers of the responses that it follows."""

from __future__ import annotations

import msgspec

from webapp.api.openai.responses.ids import REASONING, call_prefix, place_of, request_id
from webapp.api.openai.responses.items import Find, Item, answer_items, items_of
from webapp.api.openai.responses.shapes import ResponseBody
from webapp.ground.gateway.body import MAX_BODY_BYTES
from webapp.ground.gateway.errors import ApiError
from webapp.identity.keys.models import ApiKey
from webapp.surfaces.calls.models import StoredResponse
from webapp.surfaces.calls.pictures import CallPictures
from webapp.surfaces.calls.stored import find_stored

_MOST_BEFORE = 200
"""Responses in one conversation, and those to whose items it refers: more than a window holds."""
MOST_BYTES_BEFORE = MAX_BODY_BYTES
"""Of these responses' inputs and answers together. A client could send no more itself."""


def items_before(
    user_id: int, previous_id: str | None, find: Find, pictures: CallPictures, key: ApiKey | None = None
) -> list[Item]:
    """Return the items of all responses up to this one, oldest first; none without an id. Raises ApiError."""
    found: list[list[Item]] = []
    num_bytes = 0
    while previous_id is not None:
        stored = _previous(user_id, previous_id, key)
        body = body_of(stored)
        num_bytes += _num_bytes(stored, body)
        if num_bytes > MOST_BYTES_BEFORE:
            message = f"The conversation has more than {MOST_BYTES_BEFORE >> 20} MiB. Begin a new one."
            raise ApiError(400, "invalid", message, "previous_response_id")
        found.append([*items_of(body.input, f"{previous_id}.input", find, pictures), *answer_of(stored)])
        if len(found) > _MOST_BEFORE:
            message = f"The conversation has more than {_MOST_BEFORE} responses. Begin a new one."
            raise ApiError(400, "invalid", message, "previous_response_id")
        previous_id = body.previous_response_id
    return [item for items in reversed(found) for item in items]


def _num_bytes(stored: StoredResponse, body: ResponseBody) -> int:
    return len(msgspec.json.encode(body.input)) + len(stored.request.output_text.encode())


def finder(user_id: int, key: ApiKey | None = None) -> Find:
    """Return the search for items that a call refers to, among the answers of the user's stored responses."""
    found: dict[str, list[Item]] = {}

    def find(item_id: str, place: str) -> Item:
        name, index = place_of(item_id) or ("", 0)
        if name and item_id.startswith(f"{REASONING}_"):
            return Item(())
        if name not in found:
            if len(found) == _MOST_BEFORE:
                message = f"The conversation refers to more than {_MOST_BEFORE} responses. Send the items themselves."
                raise ApiError(400, "invalid", message, place)
            stored = find_stored(user_id, name, key)
            found[name] = [] if stored is None else answer_of(stored)
        if index >= len(found[name]):
            raise ApiError(404, "not_found", f"Item with id {item_id[:100]!r} not found.", place)
        return found[name][index]

    return find


def body_of(stored: StoredResponse) -> ResponseBody:
    return msgspec.convert(stored.body, ResponseBody)


def answer_of(stored: StoredResponse) -> list[Item]:
    """Return the items of a stored answer."""
    request = stored.request
    has_calls = request.params.get("tool_calls") is not None
    return answer_items(call_prefix(request.pk), request.output_text, has_calls)


def _previous(user_id: int, previous_id: str, key: ApiKey | None) -> StoredResponse:
    stored = find_stored(user_id, request_id(previous_id), key)
    if stored is None:
        message = f"Previous response with id {previous_id[:100]!r} not found."
        raise ApiError(400, "previous_response_not_found", message, "previous_response_id")
    if not stored.request.is_settled:
        message = f"Previous response with id {previous_id[:100]!r} is not complete. Wait for its end."
        raise ApiError(400, "invalid", message, "previous_response_id")
    return stored
