"""Computes a request's outcome from its events. Pure: events in, values out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, TypeVar

from inference.protocol.events import (
    TERMINAL,
    AnyEvent,
    BillPosted,
    ContextAssembled,
    EmbeddingComputed,
    Frame,
    GenerationFinished,
    GenerationInterrupted,
    GenerationQueued,
    GenerationResumed,
    GenerationStarted,
    RequestCancelled,
    RequestFailed,
    RequestFinished,
    SafetyChecked,
    TextReleased,
    ThinkingEnded,
    ThinkingReleased,
    TokenProposed,
    TokenSampled,
)
from inference.protocol.failures import Failure
from inference.protocol.generations import latest
from inference.protocol.request import FinishReason, Usage
from webapp.requests.generations import Generation, generations_of, total
from webapp.requests.rounds import is_pausing, rounds_of

VERDICTS = ("allow", "flag", "rewrite", "block")
"""Verdicts from the mildest to the worst."""

Kind = TypeVar("Kind", bound=AnyEvent)


@dataclass(frozen=True)
class Outcome:
    """The answer and its figures, as far as the log contains them."""

    generations: tuple[Generation, ...]
    rounds: list[dict[str, Any]] | None
    """The generations before the last, as the request's row keeps them."""
    text: str
    """The texts of all generations, without their thinking."""
    thinking: dict[str, Any] | None
    """The thinking of all generations, as the request's row keeps it; None: there was none."""
    usage: Usage
    """The sum over the generations that have finished. Of an embedding: its tokens."""
    is_cache_known: bool | None
    """False: a remote back end did not report its cache. None: no generation has finished."""
    finish_reason: FinishReason | None
    """That of the last generation, or of a request without any.

    None: it has not finished, or the model is to be asked again."""
    generation_failure: Failure | None
    """The failure with which the last generation finished."""
    queue_us: int | None
    """Time from the first generation's queue to a worker's engine; None: no engine began."""
    worker: str | None
    """The last worker whose engine began."""
    num_attempts: int
    """Engines that began."""
    first_token_us: int | None
    """Time of the first sampled token, counted like first_text_us."""
    between_tokens_us: dict[str, int] | None
    """Mean, median, p95 and worst of the times from token to token, in µs; None: there are fewer than two tokens."""
    first_text_us: int | None
    """Time of the first released text, µs since acceptance, without the time a person took to choose tokens."""
    duration_us: int
    num_events: int
    bill: BillPosted | None
    failure: RequestFailed | None
    context: ContextAssembled | None
    safety_layers: dict[str, str]
    """The worst verdict of each layer that was checked."""
    is_cancelled: bool
    is_terminal: bool

    @property
    def billable(self) -> Usage:
        """The usage that is paid for. A request that fails pays for its generations that ended well."""
        return self.usage if self._is_whole else total(each.usage for each in self._paid)

    @property
    def billable_thinking(self) -> int:
        """The part of the billable output that is thinking, in tokens."""
        return sum(each.num_thinking for each in self._paid)

    @property
    def _is_whole(self) -> bool:
        return self.finish_reason not in (None, "error")

    @property
    def _paid(self) -> list[Generation]:
        return [each for each in self.generations if self._is_whole or each.finish_reason not in (None, "error")]

    @property
    def safety_verdict(self) -> str | None:
        """The worst verdict of all layers; None: nothing was checked."""
        return max(self.safety_layers.values(), key=VERDICTS.index, default=None)


def fold(frames: Sequence[Frame]) -> Outcome:
    """Compute the outcome of one request's frames, in order."""
    events = [event for frame in frames for event in frame.events]
    generations = generations_of(events)
    finished = [event for event in events if isinstance(event, GenerationFinished)]
    started = [event for event in events if isinstance(event, GenerationStarted)]
    return Outcome(
        generations=generations,
        rounds=rounds_of(events),
        text="".join(generation.text for generation in generations),
        thinking=_thinking(events),
        usage=total([*(event.usage for event in finished), *_embedded(events)]),
        is_cache_known=all(event.is_cache_known for event in finished) if finished else None,
        finish_reason=_finish_reason(events, generations[-1]),
        generation_failure=_failure(generations[-1].finished),
        queue_us=_queue_us(events),
        worker=started[-1].worker if started else None,
        num_attempts=len(started),
        first_token_us=_first(events, TokenSampled),
        between_tokens_us=_between_tokens(events, generations),
        first_text_us=_first(events, TextReleased),
        duration_us=events[-1].at if events else 0,
        num_events=len(events),
        bill=_last(events, BillPosted),
        failure=_last(events, RequestFailed),
        context=generations[-1].context,
        safety_layers=_layers(events),
        is_cancelled=any(isinstance(event, RequestCancelled) for event in events),
        is_terminal=any(isinstance(event, TERMINAL) for event in events),
    )


def is_started(events: Iterable[AnyEvent]) -> bool:
    """True if a worker's engine has begun."""
    return any(isinstance(event, GenerationStarted) for event in events)


def is_computed(events: Sequence[AnyEvent]) -> bool:
    """True if a worker's engine has begun the last generation, and has neither finished nor lost it."""
    bounds = (GenerationStarted, GenerationResumed, GenerationInterrupted, GenerationFinished)
    last = [event for event in latest(events) if isinstance(event, bounds)][-1:]
    return bool(last) and not isinstance(last[0], GenerationInterrupted | GenerationFinished)


def _finish_reason(events: Sequence[AnyEvent], last: Generation) -> FinishReason | None:
    """A request that its user stops between two generations has an answer that is not whole."""
    if not is_pausing(events):
        finished = _last(events, RequestFinished)  # an embedding has no generation
        return last.finish_reason or (None if finished is None else finished.finish_reason)
    return "abort" if any(isinstance(event, RequestCancelled) for event in events) else None


def _thinking(events: Sequence[AnyEvent]) -> dict[str, Any] | None:
    """Durations and tokens are sums; the cause is that of the last end."""
    ended = [event for event in events if isinstance(event, ThinkingEnded)]
    if not ended:
        return None
    return {
        "text": "".join(event.text for event in events if isinstance(event, ThinkingReleased)),
        "num_tokens": sum(event.num_tokens for event in ended),
        "duration_us": sum(event.duration_us for event in ended),
        "cause": ended[-1].cause,
    }


def _first(events: Sequence[AnyEvent], kind: type[AnyEvent]) -> int | None:
    """Time of the first such event, µs since acceptance, without a person's time for choosing tokens until then."""
    at = next((event.at for event in events if isinstance(event, kind)), None)
    return None if at is None else _unwaited(at, list(_choices(events)))


def _queue_us(events: Sequence[AnyEvent]) -> int | None:
    queued = next((event.at for event in events if isinstance(event, GenerationQueued)), None)
    started = next((event.at for event in events if isinstance(event, GenerationStarted)), None)
    return None if queued is None or started is None else started - queued


def _unwaited(at: int, choices: Iterable[tuple[int, int]]) -> int:
    """The time minus a person's time for choosing tokens until then."""
    return at - sum(max(0, min(end, at) - start) for start, end in choices)


def _between_tokens(events: Sequence[AnyEvent], generations: Iterable[Generation]) -> dict[str, int] | None:
    """Statistics of the times between tokens of one generation.

    Tokens of one step, as of an accepted draft, come at the same time.
    """
    choices = list(_choices(events))
    times = [[_unwaited(token.at, choices) for token in generation.tokens] for generation in generations]
    gaps = sorted(after - before for own in times for before, after in pairwise(own))
    if not gaps:
        return None
    at_p95 = -(-95 * len(gaps) // 100) - 1
    return {
        "mean": round(sum(gaps) / len(gaps)),
        "median": round(median(gaps)),
        "p95": gaps[at_p95],
        "worst": gaps[-1],
    }


def _choices(events: Iterable[AnyEvent]) -> Iterator[tuple[int, int]]:
    """Step mode: start and end of each token's wait for a person, µs since acceptance, as in the inspector."""
    proposed_at = None
    for event in events:
        if isinstance(event, TokenProposed):
            proposed_at = event.at
        elif proposed_at is not None and isinstance(event, TokenSampled | GenerationFinished):
            yield proposed_at, event.at
            proposed_at = None


def _layers(events: Iterable[AnyEvent]) -> dict[str, str]:
    worst: dict[str, str] = {}
    for event in events:
        if isinstance(event, SafetyChecked):
            worst[event.layer] = max(worst.get(event.layer, "allow"), event.verdict, key=VERDICTS.index)
    return worst


def _embedded(events: Iterable[AnyEvent]) -> Iterator[Usage]:
    return (Usage(uncached_input=event.num_tokens) for event in events if isinstance(event, EmbeddingComputed))


def _failure(finished: GenerationFinished | None) -> Failure | None:
    if finished is None or finished.code is None:
        return None
    return Failure("generation", finished.code, finished.message)


def _last(events: Iterable[AnyEvent], kind: type[Kind]) -> Kind | None:
    found = None
    for event in events:
        if isinstance(event, kind):
            found = event
    return found
