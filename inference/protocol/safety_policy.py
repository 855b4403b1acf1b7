"""The safety policy: thresholds, replacement texts, amount of text per check. Knows nothing of classifiers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal

import msgspec

Layer = Literal["input", "tool_result", "output"]
Verdict = Literal["allow", "flag", "rewrite", "block"]
Action = Literal["flag", "rewrite", "block"]
LAYERS: tuple[Layer, ...] = ("input", "tool_result", "output")
ACTIONS: tuple[Action, ...] = ("flag", "rewrite", "block")
"""From the mildest to the gravest."""
CATEGORIES = ("jailbreak", "prompt_injection", "violence", "self_harm", "sexual", "hate", "pii", "secret")
FOUND = ("pii", "secret")
"""Categories of which the place in the text is known, so that it can be rewritten. Found: score 1; otherwise 0."""
NEVER = 2.0
"""Threshold of a group that no score reaches."""
FORM = 2
"""Form of the policies that this version writes. Form 1 had no personal data, no secrets and no tool results."""


class Thresholds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Per category: the lowest score that is flagged, that is rewritten and that is blocked."""

    flag: dict[str, float]
    rewrite: dict[str, float] = {}
    block: dict[str, float] = {}

    def under(self, override: Override) -> Thresholds:
        """The thresholds where those of an override take the place of the same categories'."""
        return Thresholds(**{action: getattr(self, action) | getattr(override, action) for action in ACTIONS})


class Override(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The thresholds of one layer that are others for a group, from 0 to 1. NEVER: the action is off."""

    flag: dict[str, float] = {}
    rewrite: dict[str, float] = {}
    block: dict[str, float] = {}


class GroupPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The layers in which a group has thresholds of its own."""

    input: Override = Override()
    tool_result: Override = Override()
    output: Override = Override()


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers of generated tokens between checks."""

    first_tokens: Annotated[int, msgspec.Meta(ge=1)]
    every_tokens: Annotated[int, msgspec.Meta(ge=1)]


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One policy file."""

    name: str
    version: str
    release: Release
    input: Thresholds
    output: Thresholds
    replacement: dict[str, str]
    help_first: tuple[str, ...] = ()
    """Categories that turn a sentence's block into a flag where their score for that sentence is higher."""
    tool_result: Thresholds | None = None
    """None, as in form 1: those of the input."""
    groups: dict[str, GroupPolicy] = {}
    """By a group's name. A user of several groups has the first one's."""
    form: int = 1

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"

    def thresholds(self, layer: Layer) -> Thresholds:
        if layer == "tool_result":
            return self.tool_result or self.input
        return self.output if layer == "output" else self.input

    def judge(self, layer: Layer, category: str, score: float) -> tuple[Verdict, float]:
        """Return the verdict for one score, and the threshold it was compared with."""
        thresholds = self.thresholds(layer)
        for action in reversed(ACTIONS):
            limit = getattr(thresholds, action).get(category)
            if limit is not None and score >= limit:
                return action, limit
        return "allow", thresholds.flag[category]

    def does(self, action: Action, layer: Layer, category: str) -> bool:
        """Return whether a certain finding of the category leads to the action."""
        return category in self.thresholds(layer).flag and self.judge(layer, category, 1.0)[0] == action

    def of_group(self, names: Collection[str]) -> Policy:
        """The policy for a member of these groups, without the groups of others."""
        name = next((each for each in self.groups if each in names), None)
        if name is None:
            return msgspec.structs.replace(self, groups={})
        own = self.groups[name]
        layers = {layer: self.thresholds(layer).under(getattr(own, layer)) for layer in LAYERS}
        return msgspec.structs.replace(self, groups={}, version=f"{self.version}, group {name}", **layers)
