"""Builds a tree of questions and answers from a file's messages. Plain values: knows nothing of files or databases.

Other systems keep more nodes than we do: hidden prompts, tool calls and their results, several pieces of one answer.
Nodes without a text of their own are left out, and consecutive pieces become one answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from inference.protocol.request import SamplingParams

Role = Literal["user", "assistant", ""]

MAX_MESSAGES = 10_000
"""Limit for one conversation, with all branches."""
MAX_TEXT_CHARS = 8 << 20
"""Limit for one conversation; an answer whose pieces branch counts once for each branch."""
MAX_MESSAGE_CHARS = 1 << 20


class ImportProblem(Exception):
    """A conversation cannot be imported; the message gives the reason, and a report puts the place before it."""


@dataclass(frozen=True)
class Node:
    """One message of the file."""

    id: str
    parent: str | None
    role: Role
    """Empty: the node has no message and only links others."""
    text: str
    at: float | None = None
    """Seconds since 1970; None: unknown."""
    model: str = ""


@dataclass(frozen=True)
class Draft:
    """A conversation of the file."""

    title: str
    nodes: Sequence[Node]
    id: str = ""
    """Id of a conversation exported by Sightglass, perhaps by this server; else empty."""
    shown: str | None = None
    """The node on the branch that was shown; None: unknown."""
    created_at: float | None = None
    updated_at: float | None = None
    system_prompt: str = ""
    is_pinned: bool = False
    params: SamplingParams | None = None
    n: int = 1
    tools: Sequence[str] = ()
    """Names of tools that this server has."""


@dataclass(frozen=True)
class BroughtMessage:
    """A question or an answer; its parent comes before it in the list."""

    parent: int | None
    role: Role
    text: str
    at: float | None
    """Seconds since 1970; None: unknown."""
    model: str


@dataclass(frozen=True)
class Brought:
    """A conversation that can be kept."""

    title: str
    messages: tuple[BroughtMessage, ...]
    leaf: int
    """Index of the last message of the shown branch."""
    draft: Draft
    """Source of the values kept as in the file: dates, system prompt, pin and settings."""


def grow(draft: Draft) -> Brought:
    """Build the tree of questions and answers. Raises ImportProblem."""
    _check(draft.nodes)
    tree = _Tree(draft.nodes)
    messages = tuple(_messages(tree))
    if not messages:
        raise ImportProblem("It has no message with a text.")
    title = " ".join(draft.title.replace("\x00", "").split())[:200] or _beginning(messages)
    return Brought(title, messages, _leaf(messages, tree.place_of(draft.shown)), draft)


def _check(nodes: Sequence[Node]) -> None:
    if len(nodes) > MAX_MESSAGES:
        raise ImportProblem(f"It has {len(nodes):,} messages; the limit is {MAX_MESSAGES:,}.")
    for node in nodes:
        if len(node.text) > MAX_MESSAGE_CHARS:
            raise ImportProblem(f"Message {node.id[:40]!r} has {len(node.text):,} characters, more than a message may.")
    if len({node.id for node in nodes}) < len(nodes):
        raise ImportProblem("Two of its messages have the same id.")


def _beginning(messages: Sequence[BroughtMessage]) -> str:
    return " ".join(messages[0].text.split())[:60]


@dataclass(frozen=True)
class _Run:
    """The pieces of an answer so far, the last first."""

    text: str
    before: _Run | None
    num_chars: int
    base: int | None
    """Index of the message that it answers."""

    def whole(self) -> str:
        pieces = list[str]()
        run: _Run | None = self
        while run is not None:
            pieces.append(run.text)
            run = run.before
        return "\n\n".join(reversed(pieces))


class _Tree:
    """The nodes with a text; the parent of each is the nearest such node above it."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.children: dict[str | None, list[Node]] = {}
        self.places: dict[str, int] = {}
        """Index of the message made of a node, by node id."""
        self._parents: dict[str, str | None] = {}
        """The nearest node with a text above each node, by node id; nodes without a text included."""
        self._said = {node.id for node in nodes if is_said(node)}
        self._hang(nodes)
        if len(self._parents) < len(nodes):
            lost = next(node.id for node in nodes if node.id not in self._parents)
            raise ImportProblem(f"Message {lost[:40]!r} is an ancestor of itself.")

    def _hang(self, nodes: Sequence[Node]) -> None:
        ids = {node.id for node in nodes}
        below: dict[str | None, list[Node]] = {}
        for node in nodes:
            below.setdefault(node.parent if node.parent in ids else None, []).append(node)
        waiting: list[tuple[Node, str | None]] = [(node, None) for node in reversed(below.get(None, []))]
        while waiting:
            node, above = waiting.pop()
            self._parents[node.id] = above
            if is_said(node):
                self.children.setdefault(above, []).append(node)
            here = node.id if is_said(node) else above
            waiting += [(child, here) for child in reversed(below.get(node.id, []))]

    def place_of(self, node_id: str | None) -> int | None:
        """Index of the message made of this node, or of the nearest node with a text above it."""
        if node_id is not None and node_id not in self._said:
            node_id = self._parents.get(node_id)
        return None if node_id is None else self.places.get(node_id)


def is_said(node: Node) -> bool:
    return bool(node.role and node.text.strip())


@dataclass(frozen=True)
class _Step:
    """A node to visit, with the message above it."""

    node: Node
    parent: int | None = None
    """Index of the message above."""
    run: _Run | None = None
    """The answer above, if this node continues it."""


def _messages(tree: _Tree) -> list[BroughtMessage]:
    made: list[BroughtMessage] = []
    num_chars = 0
    waiting = [_Step(node) for node in reversed(tree.children.get(None, []))]
    while waiting:
        step = waiting.pop()
        node, parent = step.node, step.parent
        below = tree.children.get(node.id, [])
        run = _run(step)
        if not below or any(child.role == "user" or node.role == "user" for child in below):
            num_chars += run.num_chars
            if num_chars > MAX_TEXT_CHARS:
                raise ImportProblem(f"Its texts have more than {MAX_TEXT_CHARS:,} characters.")
            made.append(BroughtMessage(run.base, node.role, run.whole(), node.at, node.model[:128]))
            parent = tree.places[node.id] = len(made) - 1
        goes_on = run if node.role == "assistant" else None
        for child in reversed(below):
            waiting.append(_Step(child, parent, goes_on if child.role == "assistant" else None))
    return made


def _run(step: _Step) -> _Run:
    text = step.node.text.replace("\x00", "")
    if step.run is None:
        return _Run(text, None, len(text), step.parent)
    return _Run(text, step.run, len(text) + step.run.num_chars, step.run.base)


def _leaf(messages: Sequence[BroughtMessage], shown: int | None) -> int:
    """The end of the branch through a message, by the newest child at each fork; for None, the last message."""
    if shown is None:
        return len(messages) - 1
    last_child = {message.parent: index for index, message in enumerate(messages)}
    while shown in last_child:
        shown = last_child[shown]
    return shown
