"""Loads a policy file and checks any policy. Knows nothing of classifiers."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from inference.protocol.safety_policy import Policy, Thresholds

DEFAULT_POLICY = Path(__file__).with_name("policy.toml")


class PolicyError(Exception):
    """The policy file cannot be used; the message says why."""


def load_policy(path: Path | None = None) -> Policy:
    """Load and check a policy file. Raises PolicyError."""
    path = path or DEFAULT_POLICY
    try:
        policy = msgspec.convert(tomllib.loads(path.read_text("utf-8")), Policy)
    except (OSError, ValueError) as error:  # msgspec and tomllib errors are ValueErrors
        raise PolicyError(f"the safety policy {path} cannot be used: {error}") from error
    if problems := problems_of(policy):
        raise PolicyError(f"the safety policy {path} {problems[0]}")
    return policy


def problems_of(policy: Policy) -> list[str]:
    """The reasons why the policy could not work, each as the end of a sentence."""
    return [problem for thresholds in (policy.input, policy.output) for problem in _problems(thresholds, policy)]


def _problems(thresholds: Thresholds, policy: Policy) -> Iterator[str]:
    """Yield the problems of one layer's thresholds, each as the end of a sentence."""
    flag, block = thresholds.flag, thresholds.block
    if not flag:
        yield "has a layer without any flag threshold"
    if not all(0 <= value <= 1 for value in (*flag.values(), *block.values())):
        yield "has a threshold outside 0 to 1"
    if missing := sorted(block.keys() - flag.keys()):
        yield f"blocks {_names(missing)} without a flag threshold"
    elif lower := sorted(category for category in block if block[category] < flag[category]):
        yield f"blocks {_names(lower)} below the flag threshold; raise the one or lower the other"
    if silent := sorted(block.keys() - policy.replacement.keys()):
        yield f"blocks {_names(silent)} without a replacement text"


def _names(categories: list[str]) -> str:
    return ", ".join(category.replace("_", " ") for category in categories)
