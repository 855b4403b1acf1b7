"""Messages to the running product by its own API, and their answers' events. Knows nothing of what is measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import httpx
import msgspec

from benchmarks.product import Product
from inference.protocol.events import AnyEvent

_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Chat:
    """A client with a key of the product's first user."""

    client: httpx.Client

    @classmethod
    def of(cls, product: Product) -> Chat:
        key = product.manage("create_key", "admin", "--name", "benchmark").split()[-1]
        address = f"http://127.0.0.1:{product.environment['PORT']}"
        headers = {"Authorization": f"Bearer {key}"}
        return cls(httpx.Client(base_url=address, headers=headers, timeout=_TIMEOUT_S, trust_env=False))

    def ask(self, text: str, settings: dict[str, Any], **message: Any) -> list[AnyEvent]:
        """Send one message in a conversation of its own; return all events of the answer.

        settings: the conversation's. message: further fields of the message.
        """
        conversation = self._post("/api/conversations", settings)["id"]
        begun = self._post(f"/api/conversations/{conversation}/messages", {"text": text, **message})
        return self._events(begun["assistant_message"]["request_id"])

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self.client.post(path, json=body).raise_for_status().json()
        return answer

    def _events(self, request_id: str) -> list[AnyEvent]:
        found: list[AnyEvent] = []
        with self.client.stream("GET", f"/api/requests/{request_id}/events") as stream:
            for line in stream.iter_lines():
                if line.startswith("data: ") and (frame := json.loads(line[6:])).get("events"):
                    found += msgspec.convert(frame["events"], list[AnyEvent])
        return found
