"""The exhibit's safety checks, run by the lifecycle worker, which has the classifier loaded."""

from __future__ import annotations

import hashlib
import logging

import msgspec
from django.conf import settings

from inference.eventlog.connections import connect
from inference.eventlog.keys import PREFIX
from inference.safety.minilm import SafetyModelError
from inference.safety.policy import PolicyError
from webapp.celery import app
from webapp.requests import services

logger = logging.getLogger(__name__)

_EXPIRY_S = 60


def check_key(payload: str) -> str:
    """The Redis key of this check's hash, which has a probe's form; equal bytes have the same key."""
    return f"{PREFIX}check:{hashlib.sha256(payload.encode()).hexdigest()}"


@app.task(name="learn.check")
def check(payload: str) -> None:
    """Check a text (JSON: user, text) as a message and as an answer, and save both results under the key."""
    key = check_key(payload)
    client = connect(settings.ENVIRONMENT.redis_url)
    client.hset(key, items=_outcome(msgspec.json.decode(payload)["text"]))
    client.expire(key, _EXPIRY_S)
    client.close()


def _outcome(text: str) -> list[str | bytes]:
    """Names and values of the result hash."""
    try:
        guard = services.guard()
        layers = {
            "input": msgspec.to_builtins(guard.check(text, "input").event(0, "input", 0, len(text))),
            "output": msgspec.to_builtins(guard.check(text, "output").event(0, "output", 0, len(text))),
        }
        return ["state", "done", "event", msgspec.json.encode(layers)]
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
