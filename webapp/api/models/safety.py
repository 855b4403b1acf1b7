"""Operations on the safety policy: its versions, and the effect of another one on saved decisions."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec
from django.contrib.auth.models import Group
from django.http import HttpRequest

from inference.protocol.safety_policy import LAYERS, GroupPolicy, Policy, Thresholds, Verdict
from webapp.api.operators import checked_operator
from webapp.api.requests.requests import READ_ANY
from webapp.ground.gateway.errors import ApiError
from webapp.ground.gateway.structs import Body, Result
from webapp.models.safety import in_force
from webapp.models.safety.models import PolicyVersion
from webapp.requests.models import Request
from webapp.requests.outcome import VERDICTS
from webapp.traces.library.decisions import effect_of, num_decisions

PERMISSION = "safety.change_policyversion"
_REFUSAL = "Only operators with the permission to change the safety policy see and change it."
_MAX_VERSIONS = 50
_MAX_NOTE_CHARS = 500


class LayerThresholds(Body):
    """Per category: the lowest score that is flagged, that is rewritten and that is blocked."""

    flag: dict[str, float]
    rewrite: dict[str, float]
    """Only personal data and secrets can be rewritten. A category that is left out is not."""
    block: dict[str, float]
    """A category that is left out is never blocked."""


class GroupOverride(Body):
    """The thresholds of one layer that are others for a group; 2: never."""

    flag: dict[str, float]
    rewrite: dict[str, float]
    block: dict[str, float]


class GroupThresholds(Body):
    """The layers in which a group has thresholds of its own."""

    input: GroupOverride
    tool_result: GroupOverride
    output: GroupOverride


class PolicyThresholds(Body):
    """The thresholds of a policy, from 0 to 1."""

    input: LayerThresholds
    """Of messages."""
    tool_result: LayerThresholds
    """Of tools' results and documents."""
    output: LayerThresholds
    """Of answers."""
    groups: dict[str, GroupThresholds]
    """By a group's name: thresholds that take the place of those for all. A user of several has the first one's."""


class SavedPolicy(Result):
    """A version of the policy."""

    version: int | None
    """Null: the policy of the file."""
    label: str
    """As the checks record it."""
    author: str
    saved_at: datetime | None
    note: str
    thresholds: PolicyThresholds


class SafetyState(Result):
    """The versions of the policy, the one in force first."""

    versions: list[SavedPolicy]
    replacements: dict[str, str]
    """By category: the text that a reader sees in place of a blocked one. A category without one cannot be blocked."""
    groups: list[str]
    """The groups there are, for thresholds of their own."""
    num_decisions: int
    """Saved requests with a safety decision."""


class ExampleRequest(Result):
    """A request that would be judged otherwise."""

    request_id: str
    user: str
    title: str | None
    """Null: the reader may not read others' traces."""
    is_own: bool


class VerdictChange(Result):
    """Requests that would be judged otherwise, in one way."""

    before: Literal["allow", "flag", "rewrite", "block"]
    after: Literal["allow", "flag", "rewrite", "block"]
    num: int
    examples: list[ExampleRequest]


class PolicyEffect(Result):
    """The effect of other thresholds on the newest saved decisions."""

    num_read: int
    num_decisions: int
    num_unknown: int
    """Requests whose recorded scores do not decide: several sentences, or a category that was not scored."""
    before: dict[str, int]
    """Requests by verdict under the policy in force."""
    after: dict[str, int]
    changes: list[VerdictChange]


class PolicyChange(Body):
    """The thresholds to put in force."""

    thresholds: PolicyThresholds
    after: int | None
    """The version in force that its author has seen; null: the file's policy."""
    note: str = ""
    """The author's reason."""


def show_safety(request: HttpRequest) -> SafetyState:
    """Show the safety policy in force and its earlier versions, for operators. 403 `forbidden`."""
    checked_operator(request, PERMISSION, _REFUSAL)
    return _state()


def preview_safety(request: HttpRequest, body: PolicyThresholds) -> PolicyEffect:
    """Judge the newest saved decisions under other thresholds, for some seconds, for operators. 403 `forbidden`."""
    reader = checked_operator(request, PERMISSION, _REFUSAL)
    current = _current()
    effect = effect_of(_changed(current, body), current)
    wanted = [request_id for change in effect.changes.values() for request_id in change.examples]
    rows = Request.objects.filter(pk__in=wanted).select_related("user").defer("input", "output_text").in_bulk()
    may_read = reader.has_perm(READ_ANY)

    def example(row: Request) -> ExampleRequest:
        is_own = row.user_id == reader.pk
        return ExampleRequest(row.pk, row.user.get_username(), row.title if may_read or is_own else None, is_own)

    return PolicyEffect(
        num_read=effect.num_read,
        num_decisions=num_decisions(),
        num_unknown=effect.num_unknown,
        before=_counts(effect.before),
        after=_counts(effect.after),
        changes=[
            VerdictChange(each.before, each.after, each.num, [example(rows[pk]) for pk in each.examples if pk in rows])
            for each in effect.changes.values()
        ],
    )


def change_safety(request: HttpRequest, body: PolicyChange) -> SafetyState:
    """Put other thresholds in force, for operators. 400 `invalid`; 403 `forbidden`; 409 `outdated`."""
    author = checked_operator(request, PERMISSION, _REFUSAL)
    if len(body.note) > _MAX_NOTE_CHARS or "\x00" in body.note:
        raise ApiError(400, "invalid", f"A note may have at most {_MAX_NOTE_CHARS} characters, and no NUL.", "note")
    try:
        in_force.save(_changed(_current(), body.thresholds), author.pk, body.note.strip(), body.after)
    except in_force.Outdated:
        message = "Another operator has saved a policy meanwhile. Reload the page, then change it again."
        raise ApiError(409, "outdated", message) from None
    return _state()


def _current() -> Policy:
    return in_force.saved_policy() or in_force.file_policy()


def _changed(policy: Policy, given: PolicyThresholds) -> Policy:
    layers = {layer: msgspec.convert(msgspec.to_builtins(getattr(given, layer)), Thresholds) for layer in LAYERS}
    groups = msgspec.convert(msgspec.to_builtins(given.groups), dict[str, GroupPolicy])
    try:
        return in_force.changed(policy, layers, groups)
    except in_force.PolicyRefused as error:
        raise ApiError(400, "invalid", str(error), "thresholds") from None


def _state() -> SafetyState:
    saved = list(PolicyVersion.objects.select_related("author").order_by("-pk")[:_MAX_VERSIONS])
    file, names = in_force.file_policy(), list(Group.objects.order_by("name").values_list("name", flat=True))
    versions = [_shown(in_force.policy_of(each), each) for each in saved]
    return SafetyState([*versions, _shown(file, None)], _current().replacement, names, num_decisions())


def _shown(policy: Policy, version: PolicyVersion | None) -> SavedPolicy:
    layers = {layer: msgspec.to_builtins(policy.thresholds(layer)) for layer in LAYERS}
    thresholds = layers | {"groups": msgspec.to_builtins(policy.groups)}
    return SavedPolicy(
        version=version.pk if version else None,
        label=policy.label,
        author=version.author.get_username() if version else "",
        saved_at=version.saved_at if version else None,
        note=version.note if version else "",
        thresholds=msgspec.convert(thresholds, PolicyThresholds),
    )


def _counts(by_verdict: dict[Verdict, int]) -> dict[str, int]:
    return dict.fromkeys(VERDICTS, 0) | dict(by_verdict)
