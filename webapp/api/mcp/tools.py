"""The tools that an agent may call: each a function of its user and its arguments. Knows nothing of MCP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from inference.protocol.events import Frame
from inference.protocol.json_schema import components_of
from webapp.requests.models import Request
from webapp.requests.summary import RequestSummary, summary
from webapp.traces import store
from webapp.traces.explain.brief import NotTold, Told, tell
from webapp.traces.explain.difference import Difference, differ
from webapp.traces.explain.sentences import Statement, explain
from webapp.traces.file.archive import TraceFileError
from webapp.traces.library import listing as library
from webapp.traces.library.filters import FilterError, conditions
from webapp.traces.library.order import CursorError, Order

_Arguments = TypeVar("_Arguments", bound=msgspec.Struct)
_MAX_EVENTS = 200
_MAX_FOUND = 50
_RequestId = Annotated[str, Meta(description="The id of a request, such as req_…", max_length=64)]


class CallError(Exception):
    """The call has no answer; the exception's text says why, for the agent."""


class Search(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Filters hold together. Times are in µs, costs in billionths of the currency's unit."""

    words: Annotated[str, Meta(description="Words in the title, the message or the answer.", max_length=200)] = ""
    model: Annotated[str, Meta(max_length=200)] = ""
    status: Annotated[
        str, Meta(description="queued, running, done, stopped, withheld, blocked or failed.", max_length=20)
    ] = ""
    since: Annotated[str, Meta(description="A day (UTC) or a time, ISO 8601.", max_length=40)] = ""
    sort: Annotated[
        str,
        Meta(description="created_at, duration_us, first_text_us or cost_nano; a - before it reverses.", max_length=40),
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=_MAX_FOUND)] = 20
    cursor: Annotated[str, Meta(description="next_cursor of the page before.", max_length=500)] = ""


class One(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One request."""

    request_id: _RequestId


class Two(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two requests."""

    a: _RequestId
    b: _RequestId


class Replay(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stretch of a request's event log."""

    request_id: _RequestId
    from_seq: Annotated[int, Meta(ge=1, description="Seq of the first event, from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=_MAX_EVENTS)] = 50
    types: Annotated[
        list[Annotated[str, Meta(max_length=60)]],
        Meta(description="Only these event types, such as tool.called; empty: all.", max_length=40),
    ] = []


class Found(msgspec.Struct, frozen=True):
    """One page of requests."""

    requests: list[RequestSummary]
    next_cursor: str | None


class Explained(msgspec.Struct, frozen=True):
    """A request in sentences."""

    request_id: str
    statements: list[Statement]


class Numbered(msgspec.Struct, frozen=True):
    """One event with its place in the log."""

    seq: int
    event: dict[str, Any]


class Replayed(msgspec.Struct, frozen=True):
    """A stretch of a log. `at` of an event: µs since the request was accepted."""

    events: list[Numbered]
    next_seq: int | None
    """Null: there are no more."""


def search(user_id: int, asked: Search) -> Found:
    """Find the user's requests. Raises CallError."""
    named = {"q": asked.words, "model": asked.model, "status": asked.status, "since": asked.since}
    try:
        order = Order.of(asked.sort) if asked.sort else Order()
        rows = order.apply(library.matching(user_id, conditions(named.items())))
        rows = order.after(rows, asked.cursor) if asked.cursor else rows
    except (FilterError, CursorError, ValueError) as error:
        raise CallError(str(error) or "The cursor is of another search.") from None
    page = library.first(rows, asked.limit + 1)
    more = len(page) > asked.limit
    shown = page[: asked.limit]
    return Found([summary(each) for each in shown], order.cursor_of(shown[-1]) if more else None)


def read(user_id: int, asked: One) -> Told:
    """The prompt part by part, answer, calls, checks, times and bill. Raises CallError."""
    return _of_log(lambda: tell(_frames(user_id, asked.request_id)))


def explained(user_id: int, asked: One) -> Explained:
    """What happened, in sentences. Raises CallError."""
    return Explained(asked.request_id, _of_log(lambda: explain(_frames(user_id, asked.request_id))))


def compare(user_id: int, asked: Two) -> Difference:
    """Where two requests part. Raises CallError."""
    return _of_log(lambda: differ(_frames(user_id, asked.a), _frames(user_id, asked.b)))


def replay(user_id: int, asked: Replay) -> Replayed:
    """The events in order. Raises CallError."""
    found: list[Numbered] = []
    for frame in _frames(user_id, asked.request_id):
        for seq, event in enumerate(frame.events, frame.seq):
            told = msgspec.to_builtins(event)
            if seq < asked.from_seq or (asked.types and told["type"] not in asked.types):
                continue
            if len(found) == asked.limit:
                return Replayed(found, seq)
            found.append(Numbered(seq, told))
    return Replayed(found, None)


def _frames(user_id: int, request_id: str) -> list[Frame]:
    """The saved log of the user's own request. Raises CallError."""
    found = Request.objects.filter(pk=request_id, user_id=user_id).first()
    if found is None:
        raise CallError(f"You have no request {request_id[:64]!r}. Search for its id.")
    if not found.is_settled:
        raise CallError("The request is still running. Ask again when it has ended.")
    try:
        return store.load_frames(request_id)
    except TraceFileError as error:
        raise CallError(f"Its trace cannot be read: {error}") from None


_Answer = TypeVar("_Answer")


def _of_log(function: Callable[[], _Answer]) -> _Answer:
    try:
        return function()
    except NotTold:
        raise CallError("The trace lacks its beginning.") from None


@dataclass(frozen=True)
class AgentTool:
    """One tool: its name, its purpose for the agent, the arguments' struct and the function."""

    name: str
    title: str
    description: str
    arguments: type[msgspec.Struct]
    run: Callable[[int, Any], msgspec.Struct]

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, without references."""
        _, components = components_of([self.arguments])
        return dict(components[self.arguments.__name__])


TOOLS = {
    each.name: each
    for each in (
        AgentTool(
            "search_traces",
            "Search traces",
            "Finds requests of this user by words, model, status and time, newest first, with their figures.",
            Search,
            search,
        ),
        AgentTool(
            "read_trace",
            "Read a trace",
            "Returns one request in brief: its prompt part by part, the answer of each generation, tool calls, "
            "safety checks, times and cost.",
            One,
            read,
        ),
        AgentTool(
            "explain_trace",
            "Explain a trace",
            "Tells in sentences what happened to one request and where its time and money went.",
            One,
            explained,
        ),
        AgentTool(
            "compare_traces",
            "Compare two traces",
            "Tells where two requests part: parameters, first differing token of prompt and answer, times and cost.",
            Two,
            compare,
        ),
        AgentTool(
            "replay_trace",
            "Replay a trace",
            "Returns the recorded events of one request in order, with their times, page by page.",
            Replay,
            replay,
        ),
    )
}
"""The tools by name. Each only reads."""
