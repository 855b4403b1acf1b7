"""Models of the registry, and workers that tell of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import redis
from django.contrib.auth.models import Permission, User
from django.test import Client

from inference.eventlog.keys import worker_key
from inference.tokenization.bundled import bundled_model
from tests.inference.models.tiny_gguf import write_tiny
from webapp.models.registry.models import RegisteredModel

CONFIGURED = "smollm2-135m-instruct"
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "


def registered(model: str, path: Path | None = None, state: str = "enabled", **fields: Any) -> RegisteredModel:
    """Without a path it is the bundled model under another id."""
    return RegisteredModel.objects.create(
        pk=model, path=str(path or bundled_model()), state=state, **{"kind": "gguf", **fields}
    )


def tiny(folder: Path) -> Path:
    """A small model with a tokenizer of its own."""
    return write_tiny(folder / "tiny.gguf", chat_template=TEMPLATE)


def beat(client: redis.Redis, name: str, model: str, state: str = "ready", **fields: str) -> None:
    """Let a worker tell of itself."""
    told = {"state": state, "model": model, "num_places": "192", "tokenizer": "", **fields}
    client.hset(worker_key(name), mapping=told)


def operator(name: str = "olive") -> Client:
    """An operator with the permission to change models."""
    user = User.objects.create_user(name)
    user.user_permissions.set(Permission.objects.filter(codename="change_registeredmodel"))
    client = Client()
    client.force_login(user)
    return client
