"""The policy in force, read anew for each request, so that a saved one needs no restart. Knows nothing of checks.

A worker has no database: the site sends the policy with each generation.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from django.conf import settings
from django.contrib.auth.models import Group
from django.db import connection, transaction

from inference.protocol.safety_policy import ACTIONS, LAYERS, GroupPolicy, Layer, Policy, Thresholds
from inference.safety.policy import load_policy, modern, problems_of
from inference.safety.policy_lines import first_mistake
from webapp.ground.audit.log import record
from webapp.models.safety.models import PolicyVersion

NAME = "desk"
"""The name of saved policies, as checks record it with the version."""


class PolicyRefused(Exception):
    """The policy could not work; the message says why."""


class Outdated(Exception):
    """Another operator has saved a policy meanwhile."""


def newest() -> PolicyVersion | None:
    return PolicyVersion.objects.order_by("-pk").first()


def saved_policy() -> Policy | None:
    """The newest saved policy; None: the file's is in force."""
    version = newest()
    return None if version is None else policy_of(version)


def file_policy() -> Policy:
    """Raises PolicyError."""
    return load_policy(settings.ENVIRONMENT.policy_path)


def group_names(user_id: int) -> list[str]:
    """The names of the user's groups."""
    return list(Group.objects.filter(user=user_id).values_list("name", flat=True))


def policy_of(version: PolicyVersion) -> Policy:
    policy = modern(msgspec.convert(version.policy, Policy))
    return msgspec.structs.replace(policy, name=NAME, version=str(version.pk))


def changed(policy: Policy, given: Mapping[Layer, Thresholds], groups: dict[str, GroupPolicy]) -> Policy:
    """The policy with other thresholds, by layer and for groups. Raises PolicyRefused."""
    for layer in LAYERS:
        known, asked = policy.thresholds(layer).flag.keys(), given[layer].flag.keys()
        if known != asked:
            wrong = sorted(known ^ asked)[0]
            raise PolicyRefused(f"{layer} must have a flag threshold for each of {', '.join(sorted(known))}: {wrong}.")
    new = msgspec.structs.replace(policy, **{str(layer): each for layer, each in given.items()}, groups=groups)
    if mistake := first_mistake(msgspec.to_builtins(new)):
        raise PolicyRefused(f"The policy has a mistake: {mistake.words}")
    if problems := problems_of(new):
        raise PolicyRefused(f"The policy {problems[0].words}.")
    return new


def save(policy: Policy, author_id: int, note: str, after: int | None) -> PolicyVersion:
    """Save a new version. after: the newest version that its author has seen. Raises Outdated."""
    with transaction.atomic():
        _block_others()
        before = newest()
        if (before.pk if before else None) != after:
            raise Outdated
        old = file_policy() if before is None else policy_of(before)
        version = PolicyVersion.objects.create(policy=msgspec.to_builtins(policy), author_id=author_id, note=note)
        was, now = _flat(old), _flat(policy)
        moved = [place for place in sorted(was.keys() | now.keys()) if was.get(place) != now.get(place)]
        before_moved, after_moved = ({place: values.get(place) for place in moved} for values in (was, now))
        record(version, "put in force the safety policy", before_moved, after_moved, note)
    return version


def _block_others() -> None:
    """Let other savers wait, and read what they saved before. On SQLite the transaction does so itself."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {PolicyVersion._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")


def _flat(policy: Policy) -> dict[str, float | None]:
    """Each threshold by its place."""
    layers = {layer: policy.thresholds(layer) for layer in LAYERS}
    found = {
        f"{layer} {category} {action}": getattr(limits, action).get(category)
        for layer, limits in layers.items()
        for category in limits.flag
        for action in ACTIONS
    }
    return found | {
        f"{name}: {layer} {category} {action}": limit
        for name, group in policy.groups.items()
        for layer in LAYERS
        for action in ACTIONS
        for category, limit in getattr(getattr(group, layer), action).items()
    }
