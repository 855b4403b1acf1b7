"""Ids of responses and of their items: each names the request by which it is found again."""

from __future__ import annotations

_REQUEST, _RESPONSE = "req_", "resp_"
REASONING = "rs"
"""Kind of an item of reasoning, of which an answer has at most one. It is not counted among the others."""


def response_id(request_id: str) -> str:
    return _RESPONSE + request_id.removeprefix(_REQUEST)


def request_id(response_id: str) -> str:
    """The request of a response; of another text: an id that no request has."""
    return _REQUEST + response_id.removeprefix(_RESPONSE) if response_id.startswith(_RESPONSE) else ""


def item_id(kind: str, request_id: str, index: int) -> str:
    """The id of an item of the answer. kind: `msg`, `fc` or `rs`."""
    return f"{kind}_{request_id.removeprefix(_REQUEST)}_{index}"


def place_of(item_id: str) -> tuple[str, int] | None:
    """The request of an answer's item, and the item's index; None: the id is of no such item."""
    kind, _, rest = item_id.partition("_")
    name, _, index = rest.rpartition("_")
    is_known = kind in ("msg", "fc", REASONING) and index.isascii() and index.isdigit() and len(index) <= 4
    return (_REQUEST + name, int(index)) if is_known else None


def call_prefix(request_id: str) -> str:
    """Prefix of the ids of an answer's calls."""
    return f"call_{request_id.removeprefix(_REQUEST)}"
