"""Loads a policy file and checks any policy. Knows nothing of classifiers."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from inference.protocol.safety_policy import (
    ACTIONS,
    FORM,
    FOUND,
    LAYERS,
    NEVER,
    Policy,
    Thresholds,
)
from inference.safety.policy_lines import Mistake, first_mistake, line_of

DEFAULT_POLICY = Path(__file__).with_name("policy.toml")
_CERTAIN = dict.fromkeys(FOUND, 0.5)


class PolicyError(Exception):
    """The policy file cannot be used; the message says why."""


@dataclass(frozen=True)
class Problem:
    """A reason why a policy could not work."""

    place: tuple[str, ...]
    """The keys that lead to it in the file."""
    words: str
    """The end of a sentence that begins with the policy."""


def load_policy(path: Path | None = None) -> Policy:
    """Load and check a policy file; one of form 1 gets what form 2 added. Raises PolicyError."""
    path = path or DEFAULT_POLICY
    try:
        text = path.read_text("utf-8")
        raw = tomllib.loads(text)
    except (OSError, ValueError) as error:  # a TOMLDecodeError is a ValueError, and names the line
        raise PolicyError(f"the safety policy {path} cannot be used: {error}") from error
    if mistake := first_mistake(raw):
        raise PolicyError(_sentence(path, text, mistake))
    try:
        policy = modern(msgspec.convert(raw, Policy))
    except ValueError as error:
        raise PolicyError(f"the safety policy {path} cannot be used: {error}") from error
    if problems := problems_of(policy):
        place = problems[0].place
        raise PolicyError(f"the safety policy {path}{_line(text, place)} {problems[0].words}")
    return policy


def modern(policy: Policy) -> Policy:
    """The policy in this version's form: one of form 1 gets the defaults for personal data and secrets."""
    if policy.form >= FORM:
        return policy
    default = load_policy()
    given = Thresholds(flag=policy.input.flag | _CERTAIN, block=policy.input.block)
    output = Thresholds(flag=policy.output.flag | _CERTAIN, rewrite=_CERTAIN, block=policy.output.block)
    texts = {each: default.replacement[each] for each in FOUND} | policy.replacement
    return msgspec.structs.replace(policy, input=given, tool_result=given, output=output, replacement=texts, form=FORM)


def problems_of(policy: Policy) -> list[Problem]:
    """The reasons why the policy could not work for all or for a group."""
    found = [problem for layer in LAYERS for problem in _problems(policy.thresholds(layer), policy, (layer,))]
    for name in policy.groups:
        own = policy.of_group([name])
        found += [
            problem
            for layer in LAYERS
            for problem in _problems(own.thresholds(layer), policy, ("groups", name, layer), NEVER)
        ]
    return found


def _problems(limits: Thresholds, policy: Policy, place: tuple[str, ...], most: float = 1.0) -> Iterator[Problem]:
    """Yield the problems of one layer's thresholds."""
    if not limits.flag:
        yield Problem(place, "has a layer without any flag threshold")
    for action in ACTIONS:
        given: dict[str, float] = getattr(limits, action)
        for category, value in given.items():
            at = (*place, action, category)
            if not (0 <= value <= 1 or value == most):
                yield Problem(at, "has a threshold outside 0 to 1")
            elif action != "flag" and category not in limits.flag:
                yield Problem(at, f"{action}s {_name(category)} without a flag threshold")
            elif action == "rewrite" and category not in FOUND:
                yield Problem(at, f"rewrites {_name(category)}; only {' and '.join(FOUND)} can be rewritten")
            elif action != "flag" and value < limits.flag[category]:
                yield Problem(
                    at, f"{action}s {_name(category)} below the flag threshold; raise the one or lower the other"
                )
            elif action == "block" and category not in policy.replacement:
                yield Problem(at, f"blocks {_name(category)} without a replacement text")


def _name(category: str) -> str:
    return category.replace("_", " ")


def _sentence(path: Path, text: str, mistake: Mistake) -> str:
    return f"the safety policy {path}{_line(text, mistake.place)}: {mistake.words}"


def _line(text: str, place: tuple[str, ...]) -> str:
    line = line_of(text, place)
    return f", line {line}" if line else ""
