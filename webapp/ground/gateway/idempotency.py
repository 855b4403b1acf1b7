"""The header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header) of a call. Knows nothing of what is begun."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from django.http import HttpRequest

from webapp.ground.gateway.errors import ApiError, user_id

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
"""Header of the answer to a repeat."""
_KEY = re.compile(r"[\x21-\x7e]{1,128}")


@dataclass(frozen=True)
class Key:
    """A client's idempotency key for one call of one user."""

    user_id: int
    text: str
    digest: str
    """SHA-256 of the whole call that is sent under the key."""


def read_key(request: HttpRequest, operation: str, inputs: Mapping[str, object]) -> Key | None:
    """Return the call's key, None without the header. Raises ApiError.

    inputs: the address's parameters and the body. The digest leaves out the browser's timing, which differs in a
    retry.
    """
    text = request.headers.get(HEADER)
    if text is None:
        return None
    if not _KEY.fullmatch(text):
        raise ApiError(400, "invalid", f"The {HEADER} must have 1 to 128 visible ASCII characters.")
    asked = [operation, {name: _without_timing(value) for name, value in inputs.items()}]
    return Key(user_id(request), text, hashlib.sha256(msgspec.json.encode(asked)).hexdigest())


def _without_timing(value: object) -> object:
    if isinstance(value, msgspec.Struct) and "client" in value.__struct_fields__:
        return msgspec.structs.replace(value, client=None)
    return value
