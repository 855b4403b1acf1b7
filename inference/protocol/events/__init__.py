"""Every event that can stand in a request's log. Knows nothing of its writers and readers.

An event has `at` (µs since the request was accepted) and `type` (stage.past_tense). Its `seq` is not stored in it:
a frame carries the seq of its first event and events count on from there. The docstring under a field becomes
the TypeScript comment and the inspector's tooltip.

Each prefix has a file: `token.sampled` stands in token.py. This file lists them all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from inference.protocol.events.agent import AgentFinished, AgentStarted
from inference.protocol.events.attachment import AttachedFile, AttachmentSelected, ChosenPassage, LeftPassage
from inference.protocol.events.base import Event, GenerationEvent, Value
from inference.protocol.events.batch import BatchComposed
from inference.protocol.events.bill import BillLine, BillPosted
from inference.protocol.events.cache import Absence, CacheEvicted, CacheLookedUp, CacheStored
from inference.protocol.events.context import (
    ContextAssembled,
    ContextCompared,
    Dropped,
    Image,
    Segment,
    SegmentChange,
    SegmentKind,
)
from inference.protocol.events.draft import DraftSource, DraftVerified
from inference.protocol.events.embedding import EmbeddedText, EmbeddingComputed, EmbeddingTokenized
from inference.protocol.events.gateway import GatewayChecked, Limit
from inference.protocol.events.generation import (
    CacheShape,
    GenerationFinished,
    GenerationForked,
    GenerationInterrupted,
    GenerationPreempted,
    GenerationQueued,
    GenerationResumed,
    GenerationStarted,
    KeptCall,
    KeptRound,
)
from inference.protocol.events.grammar import GrammarMasked
from inference.protocol.events.memory import MemoryRecalled, RecalledMemory
from inference.protocol.events.prefill import PrefillAdvanced
from inference.protocol.events.probe import (
    AnyProbe,
    LensLayer,
    Neighbour,
    ProbeAttended,
    ProbeCompared,
    ProbeLensed,
    ProbeMeasured,
    ProbeSummed,
)
from inference.protocol.events.prompt import PromptTokenized
from inference.protocol.events.request import (
    ClientTiming,
    RequestAccepted,
    RequestCancelled,
    RequestFailed,
    RequestFinished,
    RequestObserved,
    SentCall,
    ServerInterval,
    Surface,
)
from inference.protocol.events.safety import (
    Disguise,
    DisguiseKind,
    FindingKind,
    FoundSpan,
    SafetyChecked,
    SafetyScore,
)
from inference.protocol.events.text import TextReleased, TextWithheld
from inference.protocol.events.thinking import AnswerAsked, ThinkingEnded, ThinkingReleased
from inference.protocol.events.token import ProcessorEffect, ProcessorName, TokenProposed, TokenSampled
from inference.protocol.events.tool import ToolApprovalAsked, ToolApproved, ToolCalled, ToolDeclined, ToolFinished

__all__ = [
    "TERMINAL",
    "Absence",
    "AgentFinished",
    "AgentStarted",
    "AnswerAsked",
    "AnyEvent",
    "AnyProbe",
    "AttachedFile",
    "AttachmentSelected",
    "BatchComposed",
    "BillLine",
    "BillPosted",
    "CacheEvicted",
    "CacheLookedUp",
    "CacheShape",
    "CacheStored",
    "ChosenPassage",
    "ClientTiming",
    "ContextAssembled",
    "ContextCompared",
    "Disguise",
    "DisguiseKind",
    "DraftSource",
    "DraftVerified",
    "Dropped",
    "EmbeddedText",
    "EmbeddingComputed",
    "EmbeddingTokenized",
    "Event",
    "FindingKind",
    "FoundSpan",
    "Frame",
    "GatewayChecked",
    "GenerationEvent",
    "GenerationFinished",
    "GenerationForked",
    "GenerationInterrupted",
    "GenerationPreempted",
    "GenerationQueued",
    "GenerationResumed",
    "GenerationStarted",
    "GrammarMasked",
    "Image",
    "KeptCall",
    "KeptRound",
    "LeftPassage",
    "LensLayer",
    "Limit",
    "MemoryRecalled",
    "Neighbour",
    "PrefillAdvanced",
    "ProbeAttended",
    "ProbeCompared",
    "ProbeLensed",
    "ProbeMeasured",
    "ProbeSummed",
    "ProcessorEffect",
    "ProcessorName",
    "PromptTokenized",
    "RecalledMemory",
    "RequestAccepted",
    "RequestCancelled",
    "RequestFailed",
    "RequestFinished",
    "RequestObserved",
    "SafetyChecked",
    "SafetyScore",
    "Segment",
    "SegmentChange",
    "SegmentKind",
    "SentCall",
    "ServerInterval",
    "Surface",
    "TextReleased",
    "TextWithheld",
    "ThinkingEnded",
    "ThinkingReleased",
    "TokenProposed",
    "TokenSampled",
    "ToolApprovalAsked",
    "ToolApproved",
    "ToolCalled",
    "ToolDeclined",
    "ToolFinished",
    "Value",
    "first",
]

AnyEvent = (
    RequestAccepted
    | RequestCancelled
    | RequestFailed
    | RequestFinished
    | RequestObserved
    | GatewayChecked
    | SafetyChecked
    | AttachmentSelected
    | EmbeddingTokenized
    | EmbeddingComputed
    | MemoryRecalled
    | ContextAssembled
    | ContextCompared
    | PromptTokenized
    | GenerationQueued
    | GenerationStarted
    | GenerationInterrupted
    | GenerationResumed
    | GenerationForked
    | GenerationPreempted
    | GenerationFinished
    | CacheLookedUp
    | CacheStored
    | CacheEvicted
    | BatchComposed
    | PrefillAdvanced
    | TokenSampled
    | TokenProposed
    | DraftVerified
    | GrammarMasked
    | ThinkingReleased
    | ThinkingEnded
    | AnswerAsked
    | TextReleased
    | TextWithheld
    | ToolApprovalAsked
    | ToolApproved
    | ToolCalled
    | ToolDeclined
    | ToolFinished
    | AgentStarted
    | AgentFinished
    | BillPosted
    | AnyProbe
)

TERMINAL = (RequestFinished, RequestFailed)
"""No event but `request.observed` follows one of these."""

Kind = TypeVar("Kind", bound=AnyEvent)


def first(events: Iterable[AnyEvent], kind: type[Kind]) -> Kind | None:
    """Return the first event of that kind; None: there is none."""
    return next((event for event in events if isinstance(event, kind)), None)


class Frame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The unit of the wire and of the log: the events of one append."""

    seq: int
    """seq of the first event, from 1; the next events count on."""
    id: str = ""
    """The frame's id: the seq of its last event, and a digest of the log up to there. A saved trace has none, as it
    never changes: there the last seq is enough."""
    events: tuple[AnyEvent, ...]

    @property
    def last_seq(self) -> int:
        return self.seq + len(self.events) - 1
