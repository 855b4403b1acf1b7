"""Tools that an answer may call, and the written form of a call. Knows nothing of how a tool runs.

A call is a stretch of the answer's text: `<tool_call>{"name": "…", "arguments": {…}}</tool_call>`. The grammar makes
exactly this form, so that a reader needs no tolerant parser. A model without a form of its own for tools reads and
writes the same one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

BEGIN, END = "<tool_call>", "</tool_call>"
BEFORE_NAME, BEFORE_ARGUMENTS, AFTER_ARGUMENTS = '{"name": "', '", "arguments": ', "}"
MAX_TOOLS = 128
MAX_TOOLS_CHARS = 1 << 18
"""Characters of all names, descriptions and schemas together."""
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


class Tool(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A function of the client that the model may call."""

    name: str
    """1 to 128 letters, digits, `_` and `-`."""
    description: str = ""
    parameters: str = '{"type": "object", "properties": {}, "additionalProperties": false}'
    """JSON Schema (as JSON text) of the arguments, an object."""
    is_strict: bool = False
    """True: a keyword of the schema that the grammar cannot keep to is refused. Else it is ignored."""


class ToolCalls(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The calls that an answer may make. Each is valid JSON with arguments that satisfy the tool's schema."""

    tools: tuple[Tool, ...]
    is_required: bool = False
    """True: the answer has calls alone. False: it is text, or calls after a text that may be empty."""
    is_parallel: bool = True
    """True: an answer may have several calls."""

    def problem(self) -> str | None:
        """The first thing wrong with the tools, to be read after the field's name."""
        names = [tool.name for tool in self.tools]
        if not 1 <= len(names) <= MAX_TOOLS:
            return f"takes 1 to {MAX_TOOLS} tools"
        wrong = next((name for name in names if not TOOL_NAME.fullmatch(name)), None)
        if wrong is not None:
            return f"has the name {wrong[:40]!r}; a name has 1 to 128 letters, digits, _ and -"
        if len(set(names)) < len(names):
            return f"has two tools with the name {next(name for name in names if names.count(name) > 1)!r}"
        if sum(len(tool.name + tool.description + tool.parameters) for tool in self.tools) > MAX_TOOLS_CHARS:
            return f"may have at most {MAX_TOOLS_CHARS:,} characters in all definitions together"
        return None


def written(name: str, arguments: str) -> str:
    """The text of one call. arguments: JSON."""
    return BEGIN + BEFORE_NAME + name + BEFORE_ARGUMENTS + arguments + AFTER_ARGUMENTS + END


@dataclass(frozen=True)
class Piece:
    """A stretch of an answer: of its text, of a call's name (whole), or of a call's arguments."""

    kind: Literal["text", "name", "arguments"]
    text: str


class Splitter:
    """Splits the text of an answer into its own text and its calls, piece by piece as the text is released.

    Text that may be the beginning of a call is held back until that is known. Each call gives one `name`, then its
    `arguments` in any number of pieces. The pieces do not depend on how the text was cut.
    """

    def __init__(self) -> None:
        self._rest = ""
        self._place: Literal["text", "name", "arguments", "end"] = "text"
        self._depth, self._is_quoted, self._is_escaped = 0, False, False

    @property
    def is_within_call(self) -> bool:
        """True: the last call is not complete."""
        return self._place != "text"

    def feed(self, text: str) -> list[Piece]:
        """Return the pieces that are sure now."""
        self._rest += text
        return list(self._pieces())

    def end(self) -> list[Piece]:
        """Return what was held back, once no more text comes."""
        rest, self._rest = self._rest, ""
        return [Piece("text", rest)] if rest and self._place == "text" else []

    def _pieces(self) -> Iterator[Piece]:
        steps = {"text": self._text, "name": self._name, "arguments": self._arguments, "end": self._end}
        while self._rest:
            before = (self._place, len(self._rest))
            piece = steps[self._place]()
            if piece is not None and (piece.text or piece.kind == "name"):
                yield piece
            if before == (self._place, len(self._rest)):
                return

    def _text(self) -> Piece | None:
        head = BEGIN + BEFORE_NAME
        found = self._rest.find(head)
        if found >= 0:
            self._place = "name"
            return self._take(found, len(head), "text")
        return self._take(len(self._rest) - _held(self._rest, head), 0, "text")

    def _name(self) -> Piece | None:
        found = self._rest.find(BEFORE_ARGUMENTS)
        if found < 0:
            return None
        self._place, self._depth = "arguments", 0
        return self._take(found, len(BEFORE_ARGUMENTS), "name")

    def _arguments(self) -> Piece | None:
        """The arguments are one JSON object: they end with the brace that closes it."""
        for place, character in enumerate(self._rest):
            if self._is_quoted:
                self._is_quoted = self._is_escaped or character != '"'
                self._is_escaped = character == "\\" and not self._is_escaped
            elif character == '"':
                self._is_quoted = True
            elif character in "{[":
                self._depth += 1
            elif character in "}]":
                self._depth -= 1
                if self._depth == 0:
                    self._place = "end"
                    return self._take(place + 1, 0, "arguments")
        return self._take(len(self._rest), 0, "arguments")

    def _end(self) -> Piece | None:
        tail = AFTER_ARGUMENTS + END
        if self._rest.startswith(tail):
            self._place, self._rest = "text", self._rest[len(tail) :]
        elif not tail.startswith(self._rest):  # the grammar makes the tail, so no answer gets here
            self._place = "text"
        return None

    def _take(self, num_characters: int, num_skipped: int, kind: Literal["text", "name", "arguments"]) -> Piece:
        taken = self._rest[:num_characters]
        self._rest = self._rest[num_characters + num_skipped :]
        return Piece(kind, taken)


@dataclass(frozen=True)
class Call:
    """One call of an answer."""

    name: str
    arguments: str
    """JSON, as the model wrote it."""


def split(text: str) -> tuple[str, list[Call]]:
    """Return a whole answer's own text, and its complete calls in order."""
    splitter, spoken, calls = Splitter(), "", list[Call]()
    for piece in [*splitter.feed(text), *splitter.end()]:
        match piece.kind:
            case "text":
                spoken += piece.text
            case "name":
                calls.append(Call(piece.text, ""))
            case "arguments":
                calls[-1] = Call(calls[-1].name, calls[-1].arguments + piece.text)
    return spoken, calls[:-1] if splitter.is_within_call else calls


def _held(text: str, head: str) -> int:
    """Length of the longest end of the text that the head begins with."""
    lengths = range(min(len(text), len(head) - 1), 0, -1)
    return next((length for length in lengths if head.startswith(text[-length:])), 0)
