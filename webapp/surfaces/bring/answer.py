"""An answer of any API, put together piece by piece. Knows nothing of the APIs' forms."""

from __future__ import annotations

from dataclasses import dataclass, field

from inference.protocol.request import Usage
from webapp.ground.gateway.structs import Result


class BroughtCall(Result):
    """A call of a tool."""

    name: str = ""
    arguments: str = ""
    id: str | None = None


class ToldTokens(Result):
    """Tokens as the answer tells them. Null: it does not tell."""

    num_input: int | None = None
    """All of the prompt."""
    num_cache_read: int | None = None
    num_cache_write: int | None = None
    num_output: int | None = None
    usage: Usage | None = None
    """The same by kind of token, for a price; null: a kind is not told."""


@dataclass
class Choice:
    """One of the answers to a request, as far as its pieces came."""

    text: list[str] = field(default_factory=list)
    calls: dict[object, BroughtCall] = field(default_factory=dict)
    """By the key that their pieces have."""
    stop_reason: str | None = None


@dataclass
class Answer:
    """All answers to a request."""

    model: str | None = None
    choices: dict[int, Choice] = field(default_factory=dict)
    told: ToldTokens = field(default_factory=ToldTokens)
    is_cut: bool = False
    """It breaks off: the end that its API promises is not there."""
    error: str | None = None
    """An error that ended it."""
    left_out: list[str] = field(default_factory=list)
    """Kinds of parts that are neither text nor a call."""

    def choice(self, index: int) -> Choice:
        return self.choices.setdefault(index, Choice())

    def leave_out(self, kind: str) -> None:
        if kind not in self.left_out and len(self.left_out) < 20:
            self.left_out.append(kind[:64])
