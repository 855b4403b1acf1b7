"""The definition of an MCP server's tool: what an operator approves, its digest, and what is wrong with one.

All of it comes from the server, so all of it is hostile. Knows nothing of sessions and of the database.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inference.protocol.tool_calls import TOOL_NAME, Tool
from webapp.tools.mcpclient.configured import Server

BETWEEN = "__"
"""Stands between the server's name and the tool's. No tool that comes with the product has it in its name."""
_MOST_DESCRIPTION = 4000
_MOST_SCHEMA = 16 << 10
"""Characters of a schema. The model reads it with each prompt."""
_MOST_DEPTH = 16
_HIDDEN_KINDS = ("Cc", "Cf", "Co", "Cs")
_LINES = "\n\t"


@dataclass(frozen=True)
class Definition:
    """One tool as its server lists it."""

    server: str
    name: str
    text: str
    """All that is approved, as JSON: name, title, description, schema and annotations."""
    digest: str
    """It covers these members and the program or address that lists them."""

    @property
    def full_name(self) -> str:
        """Its name in calls."""
        return f"{self.server}{BETWEEN}{self.name}"

    @property
    def members(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def label(self) -> str:
        """Its name for people, with the server's."""
        return f"{visible(str(self.members['title'] or self.name))[:80]} ({self.server})"

    @property
    def says_read_only(self) -> bool:
        """The server's own word that the tool changes nothing. It is no proof."""
        return (self.members["annotations"] or {}).get("readOnlyHint") is True

    def member_names(self) -> Iterator[str]:
        """The names of the members of all its objects."""
        level = [self.members]
        while level:
            yield from (key for each in level if isinstance(each, dict) for key in each)
            level = [inner for each in level for inner in _inner(each)]

    def tool(self) -> Tool:
        """The tool as the model and the grammar read it."""
        own = self.members
        return Tool(
            name=self.full_name,
            description=own["description"] or "",
            parameters=json.dumps(own["inputSchema"], ensure_ascii=False),
        )

    def problem(self) -> str | None:
        """The reason why the tool cannot be offered, as far as the definition alone shows it."""
        schema, description = json.dumps(self.members["inputSchema"]), self.members["description"] or ""
        if not self.name or not TOOL_NAME.fullmatch(self.full_name):
            return "its name has other characters than letters, digits, _ and -, or another length"
        if "\\u0000" in self.text:
            return "its definition has a character NUL"
        if len(description) > _MOST_DESCRIPTION:
            return f"its description has more than {_MOST_DESCRIPTION:,} characters"
        if len(schema) > _MOST_SCHEMA:
            return f"its schema has more than {_MOST_SCHEMA:,} characters"
        if _depth(self.members["inputSchema"]) > _MOST_DEPTH:
            return f"its schema is nested deeper than {_MOST_DEPTH} levels"
        return None


def definition_of(server: Server, members: Mapping[str, Any]) -> Definition:
    """Return a listed tool's definition. members: as on the wire, by their names in the protocol."""
    kept = ("name", "title", "description", "inputSchema", "annotations")
    own = {name: members.get(name) for name in kept}
    text = json.dumps(server.without_secrets_in(own), ensure_ascii=False, sort_keys=True, indent=1)
    said = json.dumps([server.target, own], sort_keys=True)
    return Definition(server.name, str(own["name"]), text, hashlib.sha256(said.encode()).hexdigest())


def visible(text: str) -> str:
    """Return the text with each invisible character as its code: an operator sees what a model reads."""
    return "".join(_shown(each) for each in text)


def _shown(character: str) -> str:
    is_hidden = unicodedata.category(character) in _HIDDEN_KINDS and character not in _LINES
    return f"<U+{ord(character):04X}>" if is_hidden else character


def _depth(value: Any) -> int:
    """Levels of a JSON value, counted without recursion."""
    level, depth = [value], 0
    while level := [inner for each in level for inner in _inner(each)]:
        depth += 1
    return depth


def _inner(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
