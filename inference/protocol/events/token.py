"""Events of one token: its candidates, the logits processors, the draw. Knows nothing of how a token is shown."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import GenerationEvent, Value
from inference.protocol.events.shown import Shown

ProcessorName = Literal[
    "thinking",
    "grammar",
    "banned_tokens",
    "logit_bias",
    "penalties",
    "dry",
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "typical_p",
]


class ProcessorEffect(Value, frozen=True, kw_only=True):
    """The effect of one logits processor on this token's distribution."""

    name: ProcessorName
    num_candidates: int
    """Tokens left after the processor: always a run of the candidate order."""
    mass: float
    """Share of the probability before the processor that its survivors held (1 where nothing was removed)."""
    log_normalizer: float
    """log-sum-exp of the survivors' logits after the processor: p = exp(logit - log_normalizer)."""
    logits: tuple[float, ...] | None = None
    """Recorded candidates' logits after a processor that changes them (bias, penalties, DRY), not of the masked."""
    first: int = 0
    """Index in candidate order at which the run of tokens left begins: 0 except for typical-p."""
    masked: tuple[int, ...] = ()
    """Ids of recorded tokens that this processor (grammar, banned tokens) removed; they stand after the candidates."""

    unredacted: ClassVar = "name num_candidates mass log_normalizer logits first"


class TokenSampled(GenerationEvent, frozen=True, kw_only=True, tag="token.sampled"):
    """One token was chosen.

    Candidate order is by logit after the penalties, descending, ties by id; tokens removed before that are no
    candidates. Every processor from the temperature on keeps a run of that order.
    """

    position: int
    """Index in the answer, from 0: in a fork the tokens taken over come first."""
    id: int
    piece: bytes
    """The token's own bytes (base64 in JSON); empty for control tokens."""
    is_special: bool = False
    is_shown: bool = True
    """False: a server elsewhere did not show this token; its bytes are known, its id is one that has these bytes."""
    logprob: float | None
    """log-probability under the model's own distribution, before any processor; None, here and in the next fields: not
    reported by a server elsewhere."""
    rank: int | None
    """Rank by the model's own logits, from 1."""
    entropy: float | None
    """Entropy of the model's own distribution, in nats."""
    u: float | None
    """The uniform draw in [0, 1); None also when greedy."""
    low: float | None
    """Start of the chosen token's interval in the cumulative final distribution. The interval holds u. Greedy: 0."""
    high: float | None
    """End of that interval. Greedy: 1."""
    log_normalizer: float | None
    """log-sum-exp of the raw logits over the whole vocabulary."""
    candidate_ids: tuple[int, ...]
    """The first candidates in candidate order, then the chosen one if it is not among them. Those of the model's own
    first tokens that a processor masked follow."""
    candidate_logits: tuple[float, ...]
    """The candidates' raw logits. Where log_normalizer is None: log-probabilities by the model's own distribution."""
    candidate_pieces: tuple[bytes, ...]
    """The candidates' bytes (base64 in JSON)."""
    processors: tuple[ProcessorEffect, ...] | None
    """Processors in the order applied; processors that are off are absent. None: not reported."""
    step_us: int | None
    """Duration of the engine step that produced it; None: not reported."""
    batch_size: int | None
    """Sequences in that step; None: not reported."""
    chosen_by: Literal["draw", "person", "budget", "answer_now"] = "draw"
    """`person`: in step mode a person took another candidate than the one that u draws. low and high are then None.
    `budget`, `answer_now`: a token of the tag by which the thinking's budget or a person ended the thinking."""
    is_withheld: bool = False
    """True: the output check rewrote this token's text. id and piece are the replacement's: the first of its tokens has
    all of the replacement's bytes. Nothing else is recorded, and is_shown is False."""

    unredacted: ClassVar = (
        "position is_special is_shown is_withheld logprob rank entropy u low high log_normalizer candidate_logits "
        "step_us batch_size chosen_by"
    )
    shown: ClassVar = Shown(
        meaning="One pass of the model gave the probabilities, and the draw picked this token.",
        scene="sampling",
        replay_ms=1500,
    )


class TokenProposed(GenerationEvent, frozen=True, kw_only=True, tag="token.proposed"):
    """Step mode: the next token is drawn, and waits for a person to take it or another one."""

    token: TokenSampled
    """The token that is sampled if the person takes the draw."""

    unredacted: ClassVar = ""
