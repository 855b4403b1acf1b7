"""A request's spans and moments by stage, for other programs' viewers. Pure: events in, spans out.

They equal the spans of the page's timeline (`frontend/src/trace/timing/spans.ts`). A stage whose beginning or end the
log lacks has no span.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inference.protocol.events import (
    TERMINAL,
    AnyEvent,
    BillPosted,
    ClientTiming,
    ContextAssembled,
    EmbeddingComputed,
    EmbeddingTokenized,
    Frame,
    GatewayChecked,
    GenerationFinished,
    GenerationInterrupted,
    GenerationPreempted,
    GenerationQueued,
    GenerationResumed,
    GenerationStarted,
    Kind,
    PrefillAdvanced,
    PromptTokenized,
    RequestAccepted,
    RequestObserved,
    SafetyChecked,
    TextReleased,
    TokenSampled,
    ToolApprovalAsked,
    ToolApproved,
    ToolCalled,
    ToolDeclined,
    ToolFinished,
    first,
)
from inference.protocol.generations import by_number

STAGES = {
    "browser": "Browser",
    "gateway": "Gateway",
    "safety": "Safety",
    "context": "Context",
    "tokens": "Tokens",
    "queue": "Queue",
    "prefill": "Prefill",
    "sampling": "Sampling",
    "tools": "Tools",
    "release": "Release",
    "bill": "Bill and save",
}
"""The timeline's lanes, from top to bottom, with their names on the page."""


@dataclass(frozen=True)
class Span:
    """A stretch of time, or with `end` None a moment, in one stage. Times are µs since acceptance."""

    stage: str
    name: str
    start: int
    end: int | None
    event: AnyEvent | None = None
    """The span's event; None where several events make it."""


class Log:
    """One request's events, with access by type."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        self.events = [event for frame in frames for event in frame.events]

    def generations(self) -> list[Log]:
        """The events of each generation, in order."""
        found = by_number(self.events)
        return [Log([Frame(seq=1, events=tuple(found[number]))]) for number in sorted(found)]

    def all(self, kind: type[Kind]) -> list[Kind]:
        return [event for event in self.events if isinstance(event, kind)]

    def first(self, kind: type[Kind]) -> Kind | None:
        return first(self.events, kind)

    @property
    def accepted_unix_us(self) -> int:
        """The zero of every `at`, µs since the epoch; 0 in a log without its beginning."""
        accepted = self.first(RequestAccepted)
        return accepted.accepted_unix_us if accepted else 0

    @property
    def terminal(self) -> AnyEvent | None:
        return next((event for event in self.events if isinstance(event, TERMINAL)), None)


def spans(log: Log) -> list[Span]:
    """All spans and marks, in the order of their start."""
    found = [*_browser_spans(log), *_stage_spans(log), *_event_spans(log)]
    return sorted(found, key=lambda span: (span.start, span.start if span.end is None else span.end))


def _between(stage: str, name: str, start: int | None, end: int | None) -> Iterator[Span]:
    if start is not None and end is not None:
        yield Span(stage, name, start, max(start, end))


def _browser_spans(log: Log) -> Iterator[Span]:
    """The browser's spans on the server's clock, by the offset that the browser estimated."""
    accepted, observed = log.first(RequestAccepted), log.first(RequestObserved)
    if accepted is None:
        return
    client = (observed and observed.client) or accepted.client or ClientTiming()
    shift = (client.clock_offset_us or 0) - accepted.accepted_unix_us

    def moment(unix_us: int | None) -> int | None:
        return None if unix_us is None else unix_us + shift

    releases = log.all(TextReleased)
    first, last = moment(client.first_paint_unix_us), moment(client.last_paint_unix_us)
    yield from _between("browser", "key press to send", moment(client.keydown_unix_us), moment(client.sent_unix_us))
    yield from _between("browser", "POST and its reply", moment(client.sent_unix_us), moment(client.responded_unix_us))
    if releases:
        yield from _between("browser", "network and first paint", releases[0].at, first)
        if last != first:
            yield from _between("browser", "network and last paint", releases[-1].at, last)


def _stage_spans(log: Log) -> Iterator[Span]:
    accepted, gateway = log.first(RequestAccepted), log.first(GatewayChecked)
    if accepted and gateway:
        yield Span("gateway", "gateway", accepted.received_at, max(accepted.received_at, gateway.at), gateway)
    bill, over = log.first(BillPosted), log.terminal
    for generation in log.generations():
        yield from _queue_spans(generation, over)
    yield from _approval_spans(log)
    finished = [*log.all(GenerationFinished), *log.all(EmbeddingComputed)]
    if finished and bill:
        yield Span("bill", "bill", finished[-1].at, max(finished[-1].at, bill.at), bill)
    if bill and over:
        yield Span("bill", "saving the trace", bill.at, max(bill.at, over.at))


def _queue_spans(log: Log, over: AnyEvent | None) -> Iterator[Span]:
    """One generation's waits for a worker and in its engine. GenerationStarted holds the time in the worker.

    over: the request's end.
    """
    queued, started, end = log.first(GenerationQueued), log.first(GenerationStarted), _admitted_at(log)
    if queued is None:
        return
    if started is None or end is None:
        yield from _between("queue", "waiting for the engine", queued.at, None if over is None else over.at)
        return
    taken = max(queued.at, min(started.at - started.queued_us, end))
    yield from _between("queue", "waiting for a worker", queued.at, taken)
    name = "waiting for the server" if started.server else "waiting in the engine"
    yield from _between("queue", name, taken, end)


def _admitted_at(log: Log) -> int | None:
    started, prefill = log.first(GenerationStarted), log.first(PrefillAdvanced)
    if started and started.server:
        return started.at
    if prefill:
        return prefill.at - prefill.step_us
    return started.at if started else None


def _approval_spans(log: Log) -> Iterator[Span]:
    """The waits of calls for their user."""
    decisions = {each.call_id: each.at for each in log.all(ToolApproved)}
    decisions |= {each.call_id: each.at for each in log.all(ToolDeclined)}
    over = log.terminal
    for question in log.all(ToolApprovalAsked):
        end = decisions.get(question.call_id, None if over is None else over.at)
        yield from _between("tools", "waiting for approval", question.at, end)


def _event_spans(log: Log) -> Iterator[Span]:
    """One span or mark per event, except events that only bound other spans."""
    last_token: TokenSampled | None = None
    preempted: GenerationPreempted | None = None
    silent_since: int | None = None
    tools = {call.call_id: call.name for call in log.all(ToolCalled)}
    for event in log.events:
        if isinstance(event, TokenSampled):
            is_first = last_token is None or last_token.generation != event.generation
            yield _token_span(event, None if is_first else last_token)
            last_token = event
        elif isinstance(event, PrefillAdvanced):
            if preempted is not None:
                yield from _between("queue", "waiting for memory", preempted.at, event.at - event.step_us)
                preempted = None
            yield _lasting("prefill", f"prompt tokens {event.start + 1} to {event.end}", event, event.step_us)
        elif isinstance(event, ToolFinished):
            yield _lasting("tools", f"tool {tools.get(event.call_id, '')}".rstrip(), event, event.duration_us)
        elif (lasting := _of_its_own_duration(event)) is not None:
            yield lasting
        elif not isinstance(event, GatewayChecked | BillPosted | RequestObserved):
            yield Span(event.shown.lane, kind(event), event.at, None, event)
        if isinstance(event, GenerationPreempted):
            preempted = event
        elif isinstance(event, GenerationInterrupted) and silent_since is None:
            silent_since = event.at - event.silent_us
        elif isinstance(event, GenerationResumed):
            yield from _between("queue", "no worker; another takes over", silent_since, event.at)
            silent_since = None


def _token_span(token: TokenSampled, before: TokenSampled | None) -> Span:
    """A token's span; a mark for a generation's first, which the prefill's last step produces.

    Without a known step duration, the span begins at the previous token.
    """
    name = f"token {token.position + 1}: {token.piece.decode('utf-8', 'backslashreplace')!r}"
    if token.is_special:
        name = f"token {token.position + 1}: control token"
    if before is None:
        return Span("sampling", name, token.at, None, token)
    duration = token.at - before.at if token.step_us is None else token.step_us
    return _lasting("sampling", name, token, duration)


def _of_its_own_duration(event: AnyEvent) -> Span | None:
    match event:
        case SafetyChecked(layer="input"):
            return _lasting("safety", "check of the message", event, event.duration_us)
        case SafetyChecked():
            stage = "safety" if event.subject else "release"
            return _lasting(stage, f"check of {_checked(event)}", event, event.duration_us)
        case ContextAssembled():
            return _lasting("context", "context assembly", event, event.duration_us)
        case PromptTokenized():
            return _lasting("tokens", "tokenization", event, event.duration_us)
        case EmbeddingTokenized():
            return _lasting("tokens", "tokenization", event, event.duration_us)
        case EmbeddingComputed():
            return _lasting("prefill", "embedding", event, event.duration_us)
    return None


def _checked(event: SafetyChecked) -> str:
    if event.subject:
        return "the memories" if event.subject == "memory" else "a file"
    return "the answer" if event.layer == "output" else "the tool's result"


def _lasting(stage: str, name: str, event: AnyEvent, duration_us: int) -> Span:
    return Span(stage, name, event.at - max(0, duration_us), event.at, event)


def kind(event: AnyEvent) -> str:
    """The event's type as on the wire, such as `token.sampled`."""
    return str(event.__struct_config__.tag)
