"""Makes a sequence's log events from the engine's results. Knows nothing of a step's order, which is the engine's."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import Protocol

import msgspec

from inference.engine.reading_times import ReadingTimes
from inference.engine.scheduling.sequence import Sequence
from inference.engine.scheduling.step import Admitted, Evicted, Preempted, Scheduled, Stored
from inference.protocol.events import (
    AnyEvent,
    BatchComposed,
    CacheEvicted,
    CacheLookedUp,
    CacheStored,
    DraftSource,
    DraftVerified,
    GenerationPreempted,
    GrammarMasked,
    PrefillAdvanced,
    ProcessorEffect,
    TokenSampled,
)
from inference.sampling.sampler import Sample

_DECIMALS = 6
"""Decimals of a logit: a float32 of about 30 has no more. A further one would be noise, and two bytes of a trace."""
_PROBABILITIES = 10**7
"""A float32 between 0 and 1 has seven decimals."""


class PieceSource(Protocol):
    """The part of a tokenizer that the engine needs."""

    def piece(self, token: int) -> bytes:
        """Return the token's bytes; empty for control tokens."""

    def is_special(self, token: int) -> bool:
        """Return whether the token is a control token."""


@dataclass(frozen=True)
class StepFacts:
    """The facts of a step that all its events share."""

    num_sequences: int
    num_batched_tokens: int
    start_ns: int
    """Start of the step by perf_counter."""

    @property
    def step_us(self) -> int:
        """Time from the step's start to now."""
        return (time.perf_counter_ns() - self.start_ns) // 1000


def noted(note: Admitted | Preempted | Evicted, block_size: int, times: ReadingTimes) -> AnyEvent:
    """Return the event for the scheduler's note."""
    at = note.sequence.clock.at()
    match note:
        case Admitted():
            return _looked_up(note, at, block_size, times)
        case Preempted():
            return GenerationPreempted(at=at, num_tokens=note.num_tokens, num_blocks=note.num_blocks)
        case Evicted():
            return CacheEvicted(at=at)


def _looked_up(note: Admitted, at: int, block_size: int, times: ReadingTimes) -> CacheLookedUp:
    num_found = note.num_found_tokens
    reading = times.of(note.shared, num_found)
    return CacheLookedUp(
        at=at,
        block_size=block_size,
        hits=tuple(end <= num_found for end in range(block_size, note.sequence.num_tokens + 1, block_size)),
        num_cached_tokens=num_found,
        saved_us=round(reading.us) if reading.num_tokens else None,
        num_timed_tokens=reading.num_tokens,
        marks=note.sequence.request.cache_marks,
        num_owners=note.num_owners,
        was_empty=note.was_empty,
        absence=note.absence,
    )


def stored(sequence: Sequence, change: Stored) -> CacheStored:
    return CacheStored(
        at=sequence.clock.at(),
        num_blocks=len(change.indices),
        ttl=change.ttl,
        indices=change.indices,
    )


@dataclass(frozen=True)
class Batch:
    """The number of sequences in a step by their work, and how many requests wait."""

    num_decoding: int
    num_prefilling: int
    num_waiting: int

    def without(self, sequence: Sequence) -> Batch:
        """Return the batch without this one of its sequences."""
        if sequence.is_prefilling:
            return replace(self, num_prefilling=self.num_prefilling - 1)
        return replace(self, num_decoding=self.num_decoding - 1)


def batch(shares: list[Scheduled], num_waiting: int) -> Batch:
    """Return the step's batch. Call this before the sequences advance."""
    num_prefilling = sum(share.sequence.is_prefilling for share in shares)
    return Batch(len(shares) - num_prefilling, num_prefilling, num_waiting)


def composed(sequence: Sequence, others: Batch) -> BatchComposed:
    return BatchComposed(
        at=sequence.clock.at(),
        num_decoding=others.num_decoding,
        num_prefilling=others.num_prefilling,
        num_waiting=others.num_waiting,
    )


def prefilled(share: Scheduled, facts: StepFacts) -> PrefillAdvanced:
    """Return the event of a prompt's chunk. Call this once the sequence has advanced."""
    sequence = share.sequence
    end = sequence.num_computed_tokens
    return PrefillAdvanced(
        at=sequence.clock.at(),
        start=end - share.num_tokens,
        end=end,
        total=sequence.num_tokens,
        step_us=facts.step_us,
        num_sequences=facts.num_sequences,
    )


def verified(
    at: int,
    position: int,
    drafts: tuple[int, ...],
    num_accepted: int,
    pieces: PieceSource,
    source: DraftSource,
) -> DraftVerified:
    """Return a draft's event. at: from before its tokens were sampled; position: of its first token in the answer."""
    return DraftVerified(
        at=at,
        position=position,
        ids=drafts,
        pieces=tuple(pieces.piece(token) for token in drafts),
        num_accepted=num_accepted,
        source=source,
    )


def sampled(sequence: Sequence, sample: Sample, facts: StepFacts, pieces: PieceSource) -> list[AnyEvent]:
    """Return the events of a sampled token. Call this before the sequence accepts the token."""
    at, position = sequence.clock.at(), len(sequence.answer_ids)
    token = TokenSampled(
        at=at,
        position=position,
        id=sample.id,
        piece=pieces.piece(sample.id),
        is_special=pieces.is_special(sample.id),
        logprob=_rounded(sample.logprob),
        rank=sample.rank,
        entropy=_rounded(sample.entropy),
        u=sample.u,
        # Rounded outwards, so that the draw stays inside.
        low=floor(sample.low * _PROBABILITIES) / _PROBABILITIES,
        high=min(ceil(sample.high * _PROBABILITIES) / _PROBABILITIES, 1.0),
        log_normalizer=_rounded(sample.log_normalizer),
        candidate_ids=sample.candidate_ids,
        candidate_logits=sample.candidate_logits,
        candidate_pieces=tuple(map(pieces.piece, sample.candidate_ids)),
        processors=tuple(map(_rounded_effect, sample.processors)),
        step_us=facts.step_us,
        batch_size=facts.num_sequences,
        chosen_by=sample.forced_by or "draw",
    )
    if sample.grammar_us is None:
        return [token]
    num_allowed = sample.processors[0].num_candidates
    return [GrammarMasked(at=at, position=position, num_allowed=num_allowed, duration_us=sample.grammar_us), token]


def chosen(token: TokenSampled, choice: int, logit: float, rank: int, at: int, pieces: PieceSource) -> TokenSampled:
    """Return a proposed token as it was taken. logit, rank: of the choice, by the model's own logits."""
    if choice == token.id:
        return msgspec.structs.replace(token, at=at)
    assert token.log_normalizer is not None
    return msgspec.structs.replace(
        token,
        at=at,
        id=choice,
        piece=pieces.piece(choice),
        is_special=pieces.is_special(choice),
        logprob=_rounded(logit - token.log_normalizer),
        rank=rank,
        low=None,
        high=None,
        chosen_by="person",
    )


def _rounded(value: float) -> float:
    return round(value, _DECIMALS) + 0.0  # no zero is negative: a saved trace packs it badly


def _rounded_effect(effect: ProcessorEffect) -> ProcessorEffect:
    return ProcessorEffect(
        name=effect.name,
        num_candidates=effect.num_candidates,
        mass=_rounded(effect.mass),
        log_normalizer=_rounded(effect.log_normalizer),
        logits=effect.logits,
        first=effect.first,
        masked=effect.masked,
    )
