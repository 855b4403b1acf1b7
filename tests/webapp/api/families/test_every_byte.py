"""A valid body of each main call, broken at every byte: each is refused in its family's form, and begins nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.webapp.api.families.calls import BEGINNING, BODIES, call, key_of
from webapp.models.registry.offered import EMBEDDING_MODEL
from webapp.requests.models import Request

pytestmark = pytest.mark.django_db(transaction=True)
_PARAMETERS = {"type": "object", "properties": {"at": {"type": "string"}}}
_MORE: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "tools": [{"type": "function", "function": {"name": "now", "parameters": _PARAMETERS}}],
        "stop": ["é"],
        "logit_bias": {"5": 1.5},
    },
    "/v1/completions": {"logit_bias": {"5": 1.5}, "stop": ["é"]},
    "/v1/responses": {"tools": [{"type": "function", "name": "now", "parameters": _PARAMETERS}]},
    "/v1/messages": {
        "system": [{"type": "text", "text": "é", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "now", "input_schema": _PARAMETERS}],
    },
}
"""Fields that have parsers of their own, beside the least body."""


@pytest.fixture
def key(redis_client: object) -> str:
    """A key of another model: a body that stays valid is refused once it is read, before its request begins."""
    return key_of(models=[EMBEDDING_MODEL])


def whole(path: str) -> bytes:
    return json.dumps(BODIES[path] | _MORE.get(path, {}), ensure_ascii=False).encode()


def broken(body: bytes) -> Iterator[bytes]:
    """What is no JSON in UTF-8, whichever byte is struck: a cut, a control character, a byte of no character."""
    for place in range(len(body)):
        end = place + place // 4 % 2  # inserted, or in the byte's place
        yield (body[:place], body[:place] + b"\x00" + body[end:], body[:place] + b"\xff" + body[end:])[place % 3]


def changed(body: bytes) -> Iterator[bytes]:
    """What may be JSON of another meaning, at every other byte."""
    ways = (b"", b'"', b"{", b"}", b"[", b"]", b",", b":", b"9", b"e", b"-")
    for place in range(0, len(body), 2):
        yield body[:place] + ways[place % len(ways)] + body[place + 1 :]


@pytest.mark.parametrize("path", BODIES)
def test_a_body_that_is_broken_at_any_byte_is_a_400(key: str, path: str) -> None:
    wrong = {body: answer.status for body in broken(whole(path)) if (answer := call(path, body, key)).status != 400}
    assert not wrong


@pytest.mark.parametrize("path", BEGINNING)
def test_a_body_that_is_changed_at_any_byte_is_read_or_refused(key: str, path: str) -> None:
    assert call(path, whole(path), key).status == 403
    found = {body: call(path, body, key) for body in changed(whole(path))}
    assert {answer.status for answer in found.values()} <= {400, 403, 404}
    assert not Request.objects.exists()
