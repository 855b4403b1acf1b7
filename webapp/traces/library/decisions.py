"""The safety decisions of saved traces, judged again under another policy. Knows nothing of who asks.

A check records each category's score of the worst sentence. With one sentence the new verdict is exact. With several, a
score of another sentence may be hidden: then the saved verdict itself cannot be made again, and the request is counted
as unknown. A blocked message has no answer, so nothing is known of its answer's verdict.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from django.db.models import QuerySet

from inference.protocol.events import SafetyChecked
from inference.protocol.safety_policy import FOUND, Layer, Policy, Verdict
from inference.safety.judging import judge, worst
from webapp.requests.models import Request
from webapp.traces.file.archive import TraceFileError, decode_checks
from webapp.traces.models import Trace

MAX_READ = 1000
_BUDGET_S = 3.0
_AT_ONCE = 20
_MAX_EXAMPLES = 5


@dataclass
class Change:
    """Requests that would be judged otherwise, in one way."""

    before: Verdict
    after: Verdict
    num: int = 0
    examples: list[str] = field(default_factory=list)
    """Ids of the newest."""


@dataclass
class Effect:
    """The effect of a policy on the newest saved decisions."""

    num_read: int = 0
    num_unknown: int = 0
    """Requests whose scores do not give their own verdict again."""
    before: dict[Verdict, int] = field(default_factory=dict)
    """Requests by the verdict under the policy in force."""
    after: dict[Verdict, int] = field(default_factory=dict)
    changes: dict[tuple[Verdict, Verdict], Change] = field(default_factory=dict)

    def count(self, request_id: str, before: Verdict, after: Verdict) -> None:
        self.before[before] = self.before.get(before, 0) + 1
        self.after[after] = self.after.get(after, 0) + 1
        if before != after:
            change = self.changes.setdefault((before, after), Change(before, after))
            change.num += 1
            if len(change.examples) < _MAX_EXAMPLES:
                change.examples.append(request_id)


def effect_of(policy: Policy, in_force: Policy) -> Effect:
    """Judge the newest decisions under both policies, for some seconds at most."""
    effect, end = Effect(), time.monotonic() + _BUDGET_S
    for request_id, checks in _decisions():
        effect.num_read += 1
        before, after = judged_again(in_force, checks), judged_again(policy, checks)
        if before is None or after is None or not _is_certain(checks):
            effect.num_unknown += 1
        else:
            effect.count(request_id, before, after)
        if time.monotonic() > end:
            break
    return effect


def num_decisions() -> int:
    """Saved requests with a decision."""
    return _checked().count()


def judged_again(policy: Policy, checks: Sequence[SafetyChecked]) -> Verdict | None:
    """The worst verdict of the checks under this policy; None: a category was not scored then."""
    verdicts: list[Verdict] = []
    for check in checks:
        if check.layer == "refusal":
            continue
        layer: Layer = check.layer
        # Checks of earlier versions did not look for personal data and secrets.
        scores = dict.fromkeys(FOUND, 0.0) | {score.category: score.score for score in check.scores}
        if policy.thresholds(layer).flag.keys() - scores.keys():
            return None
        verdicts += [score.verdict for score in judge(policy, layer, scores)]
    return worst(verdicts)


def _is_certain(checks: Sequence[SafetyChecked]) -> bool:
    """No check has a block beside a flag with a higher score, which only several sentences give."""
    return not any(
        check.verdict == "block"
        and any(score.verdict == "flag" and score.score > _blocked(check) for score in check.scores)
        for check in checks
    )


def _blocked(check: SafetyChecked) -> float:
    return max((score.score for score in check.scores if score.verdict == "block"), default=0.0)


def _checked() -> QuerySet[Request]:
    return Request.objects.filter(trace__isnull=False, safety_verdict__isnull=False, is_imported=False)


def _decisions() -> Iterator[tuple[str, Sequence[SafetyChecked]]]:
    """The checks of the newest requests, the newest first. A trace that cannot be read is left out."""
    ids = list(_checked().order_by("-finished_at").values_list("pk", flat=True)[:MAX_READ])
    for start in range(0, len(ids), _AT_ONCE):
        blobs = dict(Trace.objects.filter(pk__in=ids[start : start + _AT_ONCE]).values_list("pk", "blob"))
        for request_id in ids[start : start + _AT_ONCE]:
            with suppress(TraceFileError, KeyError):
                yield request_id, decode_checks(bytes(blobs[request_id]))
