"""The form of token.sampled events as columns: one per field instead of one object per token.

Neighbouring values of one field are alike and compress well; a token's bytes are kept once per id. The browser reads
this form too (`frontend/src/trace/saved/columns.ts`). Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from inference.protocol.events import TokenSampled
from webapp.traces.file.numbers import Numbers

MAX_EVENTS = 1 << 17
"""More than a trace can have: two per token of the longest answer. Lists are bounded before their objects are made."""
MAX_CANDIDATES = MAX_EVENTS * 21
"""The recorded ones of every token, and the chosen one where it is none of them: what was saved can be read."""
MAX_STAGES = 1 << 18
MAX_PIECES = 1 << 18
INTEGERS = ("at", "position", "id", "is_special", "is_shown", "rank", "step_us", "batch_size")
FLOATS = ("entropy", "u", "low", "high", "log_normalizer", "logprob")
DELTAS = ("at", "position")
OPTIONAL = ("logprob", "rank", "entropy", "u", "low", "high", "log_normalizer", "step_us", "batch_size")
"""May be unknown."""
KNOWN = {*INTEGERS, *FLOATS, "piece", "candidate_ids", "candidate_logits", "candidate_pieces", "stages"}
LATER = [name for name in TokenSampled.__struct_fields__ if name not in KNOWN]
"""Fields that came after this form."""


class StageColumns(msgspec.Struct, array_like=True):
    """One stage of all the tokens whose stages have the same names."""

    name: str
    num_candidates: Numbers
    mass: Numbers
    log_normalizer: Numbers
    """Relative to that of the stage before, or the model's own."""
    first: Numbers
    num_logits: Numbers
    """Unknown: this stage has none."""
    logits: Numbers
    """Relative to the raw ones."""
    num_masked: Numbers
    masked: Numbers


class TokenColumns(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Columns of one entry per token, but where another count is said."""

    num_tokens: int
    fields: Annotated[dict[str, Numbers], msgspec.Meta(max_length=64)]
    """By the event's names; `logprob` is relative to the raw logit less the normaliser, where the token is listed."""
    num_candidates: Numbers
    candidates: Numbers
    """One entry per candidate: its id's place in `ids`, from 1; 0: the next of those that occur but once."""
    candidate_logits: Numbers
    ids: Numbers
    """Every id, the most frequent first; those that occur but once stand last, as they come."""
    num_ids: int
    num_repeated: int
    num_bytes: Numbers
    """Of each id's piece."""
    pieces: bytes
    chains: Annotated[list[Annotated[list[StageColumns], msgspec.Meta(max_length=16)]], msgspec.Meta(max_length=4096)]
    """The lists of stages that occur, told apart by their names."""
    chain: Numbers
    """Which of them a token has; unknown: its stages are not reported."""
    later: bytes
    """JSON `[[index, {field: value}]]` of what else is not as by default."""


def expected_logprob(token: int, ids: Sequence[int], logits: Sequence[float], log_normalizer: float | None) -> float:
    """The log-probability but for rounding; 0 where it does not follow from the candidates."""
    return logits[ids.index(token)] - (log_normalizer or 0.0) if token in ids else 0.0
