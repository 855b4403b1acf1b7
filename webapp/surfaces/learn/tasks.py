"""The exhibit's safety checks, run by the lifecycle worker, which has the classifier loaded."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable

import msgspec
from django.conf import settings

from inference.eventlog.connections import connect
from inference.eventlog.keys import PREFIX
from inference.safety.minilm import SafetyModelError
from inference.safety.policy import PolicyError
from webapp.celery import app
from webapp.requests import services
from webapp.surfaces.learn.injection import seen

logger = logging.getLogger(__name__)

_EXPIRY_S = 60


def check_key(payload: str) -> str:
    """The Redis key of this check's hash, which has a probe's form; equal bytes have the same key."""
    return f"{PREFIX}check:{hashlib.sha256(payload.encode()).hexdigest()}"


@app.task(name="learn.check")
def check(payload: str) -> None:
    """Check a text (JSON: user, text) as a message and as an answer, and save both results under the key."""
    _save(payload, lambda: _layers(msgspec.json.decode(payload)["text"]))


@app.task(name="learn.injection")
def injection(payload: str) -> None:
    """Show a text (JSON: user, outside) as each layer sees it, and save this under the key."""
    _save(payload, lambda: _injection(**msgspec.json.decode(payload)))


def _layers(text: str) -> bytes:
    guard = services.guard()
    layers = {
        "input": msgspec.to_builtins(guard.check(text, "input").event(0, "input", 0, len(text))),
        "output": msgspec.to_builtins(guard.check(text, "output").event(0, "output", 0, len(text))),
    }
    return msgspec.json.encode(layers)


def _injection(user: int, outside: str) -> bytes:
    return msgspec.json.encode(seen(outside, services.guard(user), f"user:{user}"))


def _save(payload: str, find: Callable[[], bytes]) -> None:
    key = check_key(payload)
    client = connect(settings.ENVIRONMENT.redis_url)
    client.hset(key, items=_outcome(find))
    client.expire(key, _EXPIRY_S)
    client.close()


def _outcome(find: Callable[[], bytes]) -> list[str | bytes]:
    """Names and values of the result hash."""
    try:
        return ["state", "done", "event", find()]
    except (PolicyError, SafetyModelError) as error:
        return ["state", "failed", "code", "model_unavailable", "message", str(error)]
    except Exception:
        logger.exception("a check failed")
        return [
            "state",
            "failed",
            "code",
            "internal",
            "message",
            "It failed. The lifecycle worker's log has the details.",
        ]
