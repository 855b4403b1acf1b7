"""Idempotent sending: a message sent again under the same key is taken once and gets its first result.

Follows the Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header). Knows nothing of HTTP.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError
from django.utils import timezone

from webapp.chat.models import Delivery, Message
from webapp.requests.models import Request

_KEPT = timedelta(days=7)
"""Minimum age of a key that is deleted: a browser's tab may be opened again after days."""


@dataclass(frozen=True)
class Key:
    """A client's idempotency key for one message of one user."""

    user_id: int
    text: str
    digest: str
    """SHA-256 of the whole message that is sent under the key."""


class AlreadySent(Exception):
    """The message has been taken, or is being taken, under this key."""


class KeyReused(Exception):
    """The key stands for another message."""


def claim(key: Key, question: Message, answers: list[Message]) -> None:
    """Claim the key, in the transaction that saves the messages, before anything is counted. Raises AlreadySent."""
    answer_ids = [answer.pk for answer in answers]
    try:
        Delivery.objects.create(
            user_id=key.user_id, key=key.text, digest=key.digest, question=question, answer_ids=answer_ids
        )
    except IntegrityError:
        raise AlreadySent from None


def first_result(key: Key) -> tuple[Message, list[Message]] | None:
    """Question and answers as they are now; None: nothing is known under this key. Raises KeyReused."""
    found = Delivery.objects.filter(user_id=key.user_id, key=key.text).select_related("question").first()
    if found is None:
        return None
    if found.digest != key.digest:
        raise KeyReused
    answers = Message.objects.select_related("request").defer("request__input").in_bulk(found.answer_ids)
    if len(answers) < len(found.answer_ids):  # taken back meanwhile
        return None
    return found.question, [answers[answer] for answer in found.answer_ids]


def on_settled(request: Request, **_: Any) -> None:
    """Receiver of `settled`: delete the user's expired keys. Not done on claim, which a user waits for."""
    Delivery.objects.filter(user_id=request.user_id, created_at__lt=timezone.now() - _KEPT).delete()
