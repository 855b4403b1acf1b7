"""The message tree: paths from a message to its root. Plain values: knows nothing of HTTP."""

from __future__ import annotations

from collections.abc import Iterable

from webapp.surfaces.chat.models import Message


def path_to(message: Message | None, messages: Iterable[Message]) -> list[Message]:
    """The branch that ends in this message, oldest first."""
    by_id = {each.pk: each for each in messages}
    path: list[Message] = []
    while message is not None:
        path.append(message)
        message = by_id.get(message.parent_id) if message.parent_id else None
    return path[::-1]


def open_answer(path: list[Message]) -> Message | None:
    """The first unfinished answer of the path, whose text is not known yet; None: all have ended."""
    return next((each for each in path if each.request is not None and not each.request.is_settled), None)


def without_blocked(path: list[Message]) -> list[Message]:
    """The path without questions that the safety policy refused: no later prompt may bring them to the model."""
    refused = {answer.parent_id for answer in path if answer.role == Message.Role.ASSISTANT and _is_refusal(answer)}
    return [message for message in path if message.pk not in refused]


def _is_refusal(answer: Message) -> bool:
    """True if the safety policy refused the question. A blocked fork does not count: its question passed before."""
    request = answer.request
    return request is not None and request.error_code == "blocked" and request.fork_position is None
