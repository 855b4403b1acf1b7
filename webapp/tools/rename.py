"""Gives the conversation another title. A part of the site that has conversations does it, when it hears the signal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.dispatch import Signal

from inference.protocol.tool_calls import Tool
from webapp.tools.tool import Asker, BuiltIn, ToolError

renaming = Signal()
"""Sent with `asker` and `title`. A receiver returns True where it has renamed the conversation."""
_MOST_CHARS = 100


def rename(arguments: Mapping[str, Any], asker: Asker) -> str:
    """Rename the conversation of the asking request. Raises ToolError."""
    title = " ".join(str(arguments["title"]).replace("\x00", "").split())[:_MOST_CHARS]
    if not title:
        raise ToolError("A title needs a letter.")
    if not any(is_done for _, is_done in renaming.send(BuiltIn, asker=asker, title=title)):
        raise ToolError("This answer belongs to no conversation any more.")
    return f"The conversation is now called {title!r}."


RENAME_CONVERSATION = BuiltIn(
    Tool(
        name="rename_conversation",
        description="Gives this conversation another title.",
        parameters=json.dumps(
            {
                "type": "object",
                "properties": {"title": {"type": "string", "minLength": 1, "maxLength": _MOST_CHARS}},
                "required": ["title"],
                "additionalProperties": False,
            }
        ),
        is_strict=True,
    ),
    "Rename this conversation",
    rename,
    needs_approval=True,
    is_repeatable=False,
)
