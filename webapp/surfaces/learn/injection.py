"""A text from outside, as each safety layer reads it and as the model reads it. Plain values in and out."""

from __future__ import annotations

from msgspec.structs import replace

from inference.protocol.events import SafetyChecked
from inference.protocol.safety_policy import FOUND, NEVER, Layer, Policy, Thresholds, Verdict
from inference.safety import Check, Guard
from webapp.ground.context.documents import framed
from webapp.ground.context.tools import result
from webapp.ground.gateway.structs import Result

MAX_CHARS = 600
_FILE = "letter.txt"
_CERTAIN = 0.5
"""Threshold of what is found or not, with score 1 or 0."""


class Effect(Result):
    """A result of a tool under a policy that takes one action alone."""

    action: Verdict
    text: str | None
    """What the model reads of it. Null: the policy has no text to put in its place, and must get one first."""


class InjectionSeen(Result):
    """A text from outside, as each layer sees it."""

    visible: str
    """The text that the checks read, without disguises."""
    hidden: str
    """Text that was spelled in invisible characters. The checks read it too."""
    input: SafetyChecked
    """As a message."""
    tool_result: SafetyChecked
    """As the result of a tool, a document or a memory."""
    output: SafetyChecked
    """As an answer."""
    effects: list[Effect]
    as_document: str
    """A file's text as it stands in a prompt."""
    as_result: str
    """A tool's result as it stands in a prompt."""


def seen(text: str, guard: Guard, principal: str) -> InjectionSeen:
    """Check the text by each layer. principal: as in Guard.check. Raises SafetyModelError."""
    folded, found = guard.fold(text), guard.check(text, "tool_result", principal)

    def checked(layer: Layer) -> SafetyChecked:
        return guard.check(text, layer, principal).event(0, layer, 0, len(text))

    return InjectionSeen(
        visible=folded.text,
        hidden=folded.hidden,
        input=checked("input"),
        tool_result=found.event(0, "tool_result", 0, len(text)),
        output=checked("output"),
        effects=[
            Effect(action="allow", text=text),
            Effect(action="flag", text=text),
            Effect(action="rewrite", text=guard.under(_rewriting(guard.policy)).rewritten(text, "tool_result")),
            Effect(action="block", text=_blocked(text, found, guard, principal)),
        ],
        as_document=framed(_FILE, [found.passed_on], "whole", is_first=True),
        as_result=result(found.passed_on),
    )


def _rewriting(policy: Policy) -> Policy:
    """The policy where it rewrites what can be rewritten in a result."""
    never = dict.fromkeys(policy.thresholds("tool_result").flag, NEVER)
    return replace(policy, tool_result=Thresholds(flag=never, rewrite=dict.fromkeys(FOUND, _CERTAIN)))


def _blocked(text: str, found: Check, guard: Guard, principal: str) -> str | None:
    """The text in the result's place where the policy blocks the deciding category, or else prompt injection."""
    category = found.category or "prompt_injection"
    if category not in guard.policy.replacement or category not in guard.policy.thresholds("tool_result").flag:
        return None
    never = dict.fromkeys(guard.policy.thresholds("tool_result").flag, NEVER)
    policy = replace(guard.policy, tool_result=Thresholds(flag=never, block={category: 0.0}))
    return guard.under(policy).check(text, "tool_result", principal).passed_on
