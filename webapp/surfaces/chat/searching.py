"""Searches the user's files and chats for a tool that one of the user's answers called."""

from __future__ import annotations

import re
from typing import Any

from inference.safety.minilm import SafetyModelError
from inference.safety.policy import PolicyError
from webapp.content.attachments.search import Similar, passages_like
from webapp.surfaces.chat.models import Message
from webapp.surfaces.chat.search import past, saying
from webapp.tools.tool import Asker, ToolError

_EXCERPT_CHARS = 600
_BEFORE_CHARS = 100
"""Characters of an excerpt before the word that was found."""
_MOST_WORDS = 10


def on_searching_files(asker: Asker, query: str, num: int, **_: Any) -> list[dict[str, object]]:
    """The passages of the asker's files that are most like the query. Raises ToolError."""
    try:
        return [_told_passage(each) for each in passages_like(asker.user_id, query, num)]
    except (PolicyError, SafetyModelError):
        raise ToolError("The files cannot be searched now: the embedding model is missing.") from None


def on_searching_chats(asker: Asker, query: str, num: int, **_: Any) -> list[dict[str, object]]:
    """The newest messages of the asker's other chats that have all words of the query."""
    words = query.split()[:_MOST_WORDS]
    found = past(saying(asker.user_id, *words), asker.request_id)
    rows = found.select_related("conversation", "request").defer("request__input")[:num]
    return [_told_message(each, words[0]) for each in rows]


def _told_passage(found: Similar) -> dict[str, object]:
    row = found.passage
    return {
        "file": row.attachment.name,
        "passage": f"{row.number} of {row.attachment.num_passages}",
        "similarity": found.similarity,
        "text": found.text[:_EXCERPT_CHARS],
    }


def _told_message(found: Message, word: str) -> dict[str, object]:
    return {
        "chat": found.conversation.title,
        "day": f"{found.created_at:%Y-%m-%d}",
        "by": found.role,
        "text": _excerpt(found.text, word),
    }


def _excerpt(text: str, word: str) -> str:
    """The text around the word."""
    found = re.search(re.escape(word), text, re.IGNORECASE)
    start = max(0, found.start() - _BEFORE_CHARS) if found else 0
    end = start + _EXCERPT_CHARS
    return ("… " if start else "") + text[start:end].strip() + (" …" if end < len(text) else "")
