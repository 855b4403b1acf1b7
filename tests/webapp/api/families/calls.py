"""A call of each API family, by a user with a key, without a worker."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from tests.webapp.registered import CONFIGURED
from webapp.identity.keys.keys import create
from webapp.models.registry.offered import EMBEDDING_MODEL

SAID: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}]
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": CONFIGURED, "messages": SAID, "max_tokens": 1},
    "/v1/completions": {"model": CONFIGURED, "prompt": "Hi", "max_tokens": 1},
    "/v1/responses": {"model": CONFIGURED, "input": SAID, "max_output_tokens": 1},
    "/v1/responses/input_tokens": {"model": CONFIGURED, "input": SAID},
    "/v1/embeddings": {"model": EMBEDDING_MODEL, "input": "Hi"},
    "/v1/messages": {"model": CONFIGURED, "messages": SAID, "max_tokens": 1},
    "/v1/messages/count_tokens": {"model": CONFIGURED, "messages": SAID},
}
"""The least body of each call."""
COUNTS = ("/v1/messages/count_tokens", "/v1/responses/input_tokens")
BEGINNING = ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages")
"""Calls that begin a request."""


@dataclass(frozen=True)
class Answer:
    status: int
    body: dict[str, Any]
    headers: Any

    @property
    def error(self) -> dict[str, Any]:
        """The error, in the form of the family that was called."""
        found: dict[str, Any] = self.body["error"]
        return found


def key_of(name: str = "alice", **scopes: Any) -> str:
    user, _ = User.objects.get_or_create(username=name)
    return create(user.pk, "a test", **scopes).secret


def call(path: str, body: object, key: str, **headers: str) -> Answer:
    """A body that is bytes is sent as it is."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    client = Client(raise_request_exception=False, headers={"x-api-key": key, **headers})
    response = client.post(path, data, content_type="application/json")
    answer = Answer(response.status_code, response.json(), response.headers)
    if answer.status >= 400:
        check_form(path, answer)
    return answer


def check_form(path: str, answer: Answer) -> None:
    """The refusal has its family's form."""
    if path.startswith("/v1/messages"):
        assert answer.body["type"] == "error" and answer.body["request_id"] == answer.headers["request-id"]
        assert {"type", "message"} <= answer.error.keys()
    else:
        assert set(answer.error) == {"message", "type", "param", "code"}
