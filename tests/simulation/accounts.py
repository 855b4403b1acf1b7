"""What must be so once all is settled: row, bill, trace and log tell the same. Knows nothing of faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from inference.protocol.events import BillPosted, GenerationFinished, GenerationResumed, TokenSampled
from tests.simulation.checks import Checks, Reader, Story
from webapp.models.billing.models import LedgerEntry
from webapp.models.billing.price_book import KINDS
from webapp.requests.models import Request
from webapp.requests.outcome import fold
from webapp.traces import store


def audit_readers(checks: Checks, readers: Sequence[Reader]) -> None:
    """Check that each client has read the saved trace, whatever was lost on the way."""
    saved = {reader.request_id: store.load_frames(reader.request_id) for reader in readers}
    for reader in readers:
        events = [event for frame in saved[reader.request_id] for event in frame.events]
        if events and reader.events != events:
            checks.fail(
                "a reader of %s has %d events, not these %d", reader.request_id, len(reader.events), len(events)
            )


def audit_rates(checks: Checks, used: Mapping[str, Sequence[int]]) -> None:
    """Check that what each settled request took was corrected once, by what it used."""
    for request in Request.objects.exclude(finished_at=None):
        if list(used.get(request.pk, ())) != [request.num_output_tokens]:
            checks.fail("the rates of %s were corrected by %s", request.pk, used.get(request.pk))


def audit(checks: Checks, is_calm: bool) -> list[str]:
    """Check every request that was not taken back; return their final statuses. is_calm: there were no faults."""
    statuses = []
    for request_id, story in checks.stories.items():
        request = Request.objects.filter(pk=request_id).first()
        if request is None:
            statuses.append("taken back")
            if is_calm:
                checks.fail("%s was taken back in a calm run", request_id)
            continue
        statuses.append(f"{request.status} {request.error_code}".strip())
        _audit(checks, request, story)
        if is_calm and (request.status == "failed" or _num_attempts(story) > 1):
            checks.fail(
                "%s took %d attempts and ended as %s in a calm run", request_id, _num_attempts(story), statuses[-1]
            )
    return statuses


def _audit(checks: Checks, request: Request, story: Story) -> None:
    frames = store.load_frames(request.pk)
    events = [event for frame in frames for event in frame.events]
    outcome = fold(frames)
    if not outcome.is_terminal or request.num_events != len(events):
        checks.fail("the trace of %s has no end", request.pk)
    if not story.has_lost_its_end and events[: len(story.events)] != story.events:
        checks.fail("the trace of %s differs from its log", request.pk)
    tokens = tuple(event.id for event in events if isinstance(event, TokenSampled))
    if request.status == Request.Status.DONE and tokens != story.question.whole_answer:
        checks.fail("%s is done with %d of %d tokens", request.pk, len(tokens), len(story.question.whole_answer))
    _audit_bill(
        checks, request, msgspec.to_builtins(outcome.billable), sum(isinstance(event, BillPosted) for event in events)
    )
    finished = [event for event in events if isinstance(event, GenerationFinished)]
    if len({event.generation for event in finished}) < len(finished):
        checks.fail("%s finished a generation twice", request.pk)
    for event in finished:
        _audit_usage(checks, request, story, event, [each for each in events if isinstance(each, TokenSampled)])


def _audit_usage(
    checks: Checks, request: Request, story: Story, finished: GenerationFinished, tokens: Sequence[TokenSampled]
) -> None:
    num_tokens = sum(token.generation == finished.generation for token in tokens)
    if not num_tokens or finished.finish_reason == "error":
        return
    usage = finished.usage
    num_input = usage.uncached_input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h
    if num_input > len(story.question.prompt) or usage.output != num_tokens:
        checks.fail("%s bills %d of input, %d of output", request.pk, num_input, usage.output)


def _audit_bill(checks: Checks, request: Request, usage: Mapping[str, int], num_bills: int) -> None:
    entries = list(LedgerEntry.objects.filter(request_id=request.pk))
    if len(entries) != num_bills or num_bills > 1:
        checks.fail("%s has %d bills and %d entries in the ledger", request.pk, num_bills, len(entries))
    for entry in entries:
        if any(getattr(entry, kind) != usage.get(kind) for kind in KINDS):
            checks.fail("the ledger of %s differs from its usage %s", request.pk, msgspec.to_builtins(usage))


def _num_attempts(story: Story) -> int:
    return 1 + sum(isinstance(event, GenerationResumed) for event in story.events)
