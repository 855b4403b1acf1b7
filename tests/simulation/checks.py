"""What must always be so, checked after each effect on the log, the leases, the queues and the readers.

The first violation ends a run. Knows nothing of faults but that Redis may lose its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from inference.eventlog.entry import BEGINNING, Entry, Mark
from inference.eventlog.event_log import NO_ATTEMPT, Fenced
from inference.eventlog.leases import Holding
from inference.eventlog.memory import MemoryEventLog
from inference.protocol.codec import decode_frame, decode_generation
from inference.protocol.events import (
    TERMINAL,
    AnyEvent,
    Frame,
    GenerationFinished,
    GenerationInterrupted,
    TokenSampled,
)
from tests.simulation.questions import Question
from tests.simulation.server import Message
from tests.simulation.world import Thread, World
from webapp.requests.models import Request

_UNDISTURBED_S = 5.0
"""After so long without any fault, a worker keeps its answers."""


@dataclass(frozen=True)
class Claim:
    """The thread that runs an attempt, and its task."""

    thread: Thread
    task: object

    @property
    def is_running(self) -> bool:
        return self.thread.process.is_alive and self.thread.task is self.task


@dataclass
class Story:
    """What the checks know of one request."""

    question: Question
    events: list[AnyEvent] = field(default_factory=list)
    """The log, as it must be."""
    fence: int = 0
    num_tokens: Counter[int] = field(default_factory=Counter)
    """Of each generation."""
    is_ended: bool = False
    completed_at: float = inf
    """The time of the generation's end."""
    has_lost_its_end: bool = False
    leased_to: int | None = 0
    """The attempt that holds the lease; 0: none does. None: not known, since Redis lost its end."""
    claimed: dict[int, Claim] = field(default_factory=dict)
    """Attempts, each with what runs it."""
    queued: set[int] = field(default_factory=set)


@dataclass
class Reader:
    """A client that follows a request, over as many connections as it takes."""

    request_id: str
    after: Mark = BEGINNING
    events: list[AnyEvent] = field(default_factory=list)
    """What it has read since it began last."""
    has_ended: bool = False

    def begin_again(self) -> None:
        self.after = BEGINNING
        self.events.clear()


class Checks:
    """The invariants of one run."""

    def __init__(self, world: World, is_settled: Callable[[str], bool]) -> None:
        """is_settled: whether the committed row of a request is settled."""
        self._world = world
        self._is_settled = is_settled
        self.stories: dict[str, Story] = {}
        self.violation: str | None = None

    def fail(self, what: str, *facts: object) -> None:
        if self.violation is None:
            self.violation = what % facts
            self._world.tell("VIOLATION: %s", self.violation)

    def seen(self, part: str, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Check a call that had its effect."""
        match part, method:
            case "log", "append":
                self._appended(*args[:3], result.last_seq)
            case "log", "put_back":
                self._put_back(args[0], args[1], args[4])
            case "log", "fence" | "open":
                story = self.stories[args[0]]
                story.fence = max(story.fence, args[1])
            case "log", "claim" if result:
                self._claimed(*args[:2])
            case "leases", "grant" if result:
                self._leased(args[0], args[1])
            case "leases", "renew":
                self._renewed(args[0], result)
            case "leases", "end":
                self.stories[args[0]].leased_to = 0
            case "log", "forget":
                self.stories[args[0]].events.clear()
                self.stories[args[0]].fence = NO_ATTEMPT

    def sent(self, message: Message) -> None:
        """Check a task that was queued."""
        if message.task != "inference.generate":
            return
        request = decode_generation(message.args[0])
        story = self.stories[request.request_id]
        # A log that lost its end is prepared again. The claim then tells the two messages apart.
        if request.attempt in story.queued and not story.has_lost_its_end:
            self.fail("attempt %d of %s is queued twice", request.attempt, request.request_id)
        story.queued.add(request.attempt)

    def is_complete(self, request_id: str, at: float) -> bool:
        """Return whether the generation was over by then."""
        return self.stories[request_id].completed_at < at

    def _appended(self, request_id: str, events: Sequence[AnyEvent], attempt: int, last: int) -> None:
        story = self.stories[request_id]
        if attempt < story.fence:
            self.fail("attempt %d of %s appends after the fence of %d", attempt, request_id, story.fence)
        story.fence = attempt
        for event in events:
            self._follows(request_id, story, event)
            story.events.append(event)
        if last != len(story.events):
            self.fail("%s ends at %d, and has %d events", request_id, last, len(story.events))

    def _put_back(self, request_id: str, attempt: int, lost: Sequence[Entry]) -> None:
        """Check entries that a worker put back. A call that was sent twice changes nothing."""
        new = [event for entry in lost for event in entry.frame.events]
        story = self.stories[request_id]
        if len(story.events) < lost[-1].last_seq:
            self._appended(request_id, new, attempt, lost[-1].last_seq)
        elif story.events[lost[0].seq - 1 : lost[-1].last_seq] != new:
            self.fail("%s gets other events than it lost", request_id)

    def _follows(self, request_id: str, story: Story, event: AnyEvent) -> None:
        if story.is_ended:
            self.fail("%s goes on after its end: %s", request_id, type(event).__name__)
        if isinstance(event, TokenSampled):
            self._continues(request_id, story, event)
        elif isinstance(event, GenerationFinished):
            if event.finish_reason != "stop" or story.question.after(event.generation).is_last:
                story.completed_at = self._world.now
        elif isinstance(event, TERMINAL):
            story.is_ended = True
            if not self._is_settled(request_id):
                self.fail("%s ends before its row is settled", request_id)
        elif isinstance(event, GenerationInterrupted) and event.cause == "lost":
            self._lost(request_id, story, event.attempt)

    def _continues(self, request_id: str, story: Story, event: TokenSampled) -> None:
        number = event.generation
        if event.position != story.num_tokens[number]:
            self.fail("%s has token %d after %d tokens", request_id, event.position, story.num_tokens[number])
        elif event.id != story.question.after(number).answer[event.position]:
            self.fail("%s has another token at %d than undisturbed", request_id, event.position)
        story.num_tokens[number] += 1

    def _lost(self, request_id: str, story: Story, attempt: int) -> None:
        claim, is_calm = story.claimed.get(attempt), self._world.now > self._world.disturbed_at + _UNDISTURBED_S
        if claim is not None and claim.is_running and is_calm:
            self.fail("attempt %d of %s is taken from a healthy worker", attempt, request_id)

    def _claimed(self, request_id: str, attempt: int) -> None:
        claimed = self.stories[request_id].claimed
        if attempt in claimed:
            self.fail("attempt %d of %s is claimed twice", attempt, request_id)
        thread = self._world.current
        assert thread is not None
        claimed[attempt] = Claim(thread, thread.task)

    def _leased(self, request_id: str, attempt: int) -> None:
        story = self.stories[request_id]
        if attempt < (story.leased_to or 0):
            self.fail("attempt %d of %s leases what attempt %d holds", attempt, request_id, story.leased_to)
        story.leased_to = attempt

    def _renewed(self, holdings: Sequence[Holding], num_renewed: int) -> None:
        holders = [self.stories[each.request_id].leased_to for each in holdings]
        may = sum(holder in (None, each.attempt) for holder, each in zip(holders, holdings, strict=True))
        if num_renewed > may:
            self.fail("one of %s is renewed by an attempt that does not hold it", list(holdings))

    def lost_its_end(self, log: MemoryEventLog) -> None:
        """Take over what Redis has left.

        A log without its fence takes events of an earlier attempt, which the settled trace may not have.
        """
        for request_id, story in self.stories.items():
            events = [event for frame in log.read(request_id) for event in frame.events]
            story.has_lost_its_end |= len(events) < len(story.events) or _has_lost_its_fence(log, request_id, story)
            story.events = events
            story.num_tokens = Counter(event.generation for event in events if isinstance(event, TokenSampled))
            story.is_ended = any(isinstance(event, TERMINAL) for event in events)
            story.fence, story.leased_to = 0, None
            if not any(isinstance(event, GenerationFinished) for event in events):
                story.completed_at = inf
            story.claimed.clear()
            story.queued.clear()

    def received(self, reader: Reader, mark: Mark, data: bytes) -> None:
        """Check a frame that reached a reader."""
        frame, story = decode_frame(data), self.stories[reader.request_id]
        if frame.seq != reader.after.seq + 1:
            self.fail("a reader of %s has %d after %d", reader.request_id, frame.seq, reader.after.seq)
        elif not story.has_lost_its_end and not self._tells(reader.request_id, frame, story):
            self.fail("a reader of %s sees other events than the log", reader.request_id)
        reader.after = mark
        reader.events.extend(frame.events)
        if any(isinstance(event, TERMINAL) for event in frame.events):
            reader.has_ended = True
            if not self._is_settled(reader.request_id) and not story.has_lost_its_end:
                self.fail("a reader of %s saw the end before the row was settled", reader.request_id)

    def _tells(self, request_id: str, frame: Frame, story: Story) -> bool:
        """Return whether the log has these events. A saved trace has the last ones before the log has them."""
        known = story.events[frame.seq - 1 : frame.last_seq]
        is_whole = len(known) == len(frame.events) or self._is_settled(request_id)
        return is_whole and list(frame.events[: len(known)]) == known


def committed(row: Callable[..., tuple[Any, ...] | None]) -> Callable[[str], bool]:
    """Return a look at whether a request's row is settled."""
    query = f"SELECT finished_at FROM {Request._meta.db_table} WHERE id = ?"

    def is_settled(request_id: str) -> bool:
        found = row(query, request_id)
        return found is not None and found[0] is not None

    return is_settled


def _has_lost_its_fence(log: MemoryEventLog, request_id: str, story: Story) -> bool:
    """Return whether an earlier attempt may write."""
    try:
        log.copy().fence(request_id, story.fence - 1)
    except Fenced:
        return False
    return story.fence > 0
