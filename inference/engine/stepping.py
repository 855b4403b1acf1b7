"""Step mode: a token is proposed, waits, and is taken or replaced. Knows nothing of drafts and batches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inference.engine import record
from inference.engine.record import PieceSource
from inference.engine.slot import Proposal, Slot
from inference.protocol.events import AnyEvent, TokenProposed, TokenSampled
from inference.protocol.request import StepCommand
from inference.sampling import vocabulary


def propose(slot: Slot, events: list[AnyEvent], logits: NDArray[np.float32]) -> None:
    """Pause the sequence until its next token is chosen. events: recorded if that token is taken, which is the last."""
    token = events[-1]
    assert isinstance(token, TokenSampled)
    slot.proposal = Proposal(events, logits.copy())
    slot.events.append(TokenProposed(at=token.at, token=token))
    slot.sequence.is_paused = True


def take(slot: Slot, command: StepCommand, pieces: PieceSource) -> None:
    """Take the token proposed, or another. A command for a token that was taken before is void."""
    sequence, proposal = slot.sequence, slot.proposal
    num_tokens = sequence.num_free_tokens if command.num_tokens is None else command.num_tokens
    if num_tokens == 0:
        sequence.num_permitted = 0
    elif proposal is not None and command.position == len(sequence.answer_ids):
        slot.proposal = None
        slot.events += _chosen(slot, proposal, command.token_id, pieces)
        sequence.is_paused, sequence.num_permitted = False, num_tokens - 1


def _chosen(slot: Slot, proposal: Proposal, token_id: int | None, pieces: PieceSource) -> list[AnyEvent]:
    *notes, drawn = proposal.events
    assert isinstance(drawn, TokenSampled)
    choice = drawn.id if token_id is None else token_id
    rank, logit = vocabulary.rank(proposal.logits, choice), float(proposal.logits[choice])
    token = record.chosen(drawn, choice, logit, rank, slot.sequence.clock.at(), pieces)
    slot.sequence.accept(choice)
    slot.sampler.prepare(slot.sequence.answer_ids)
    return [*notes, token]
