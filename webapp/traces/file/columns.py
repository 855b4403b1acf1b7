"""The form of token.sampled events as columns: one per field instead of one object per token.

Neighbouring values of one field are similar and compress well. A token's bytes are stored once per id. The browser
reads this form too (`frontend/src/trace/saved/columns.ts`). Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from inference.protocol.events import TokenSampled
from webapp.traces.file.numbers import Numbers

MAX_EVENTS = 1 << 17
"""Above any trace's number: two per token of the longest answer. Lists are bounded before their objects are made."""
MAX_CANDIDATES = MAX_EVENTS * 21
"""Each token's recorded candidates, plus the chosen token if it is not among them: every saved trace is readable."""
MAX_PROCESSORS = 1 << 18
MAX_PIECES = 1 << 18
INTEGERS = ("at", "position", "id", "is_special", "is_shown", "rank", "step_us", "batch_size")
FLOATS = ("entropy", "u", "low", "high", "log_normalizer", "logprob")
DELTAS = ("at", "position")
OPTIONAL = ("logprob", "rank", "entropy", "u", "low", "high", "log_normalizer", "step_us", "batch_size")
"""Fields whose value may be unknown."""
KNOWN = {*INTEGERS, *FLOATS, "piece", "candidate_ids", "candidate_logits", "candidate_pieces", "processors"}
LATER = [name for name in TokenSampled.__struct_fields__ if name not in KNOWN]
"""Fields that were added after this form."""


class ProcessorColumns(msgspec.Struct, array_like=True):
    """One processor of all the tokens whose processors have the same names."""

    name: str
    num_candidates: Numbers
    mass: Numbers
    log_normalizer: Numbers
    """Relative to the previous processor's, or to the model's own."""
    first: Numbers
    num_logits: Numbers
    """Number of logits per token; unknown: the processor has none."""
    logits: Numbers
    """Relative to the raw logits."""
    num_masked: Numbers
    masked: Numbers


class TokenColumns(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Columns with one entry per token, unless stated otherwise."""

    num_tokens: int
    fields: Annotated[dict[str, Numbers], msgspec.Meta(max_length=64)]
    """Columns by field name; `logprob` is relative to the raw logit minus the normaliser, where the token is listed."""
    num_candidates: Numbers
    candidates: Numbers
    """One entry per candidate: its id's place in `ids`, from 1; 0: the next id that occurs only once."""
    candidate_logits: Numbers
    ids: Numbers
    """Every id, the most frequent first; ids that occur only once come last, in order of occurrence."""
    num_ids: int
    num_repeated: int
    num_bytes: Numbers
    """Length of each id's piece."""
    pieces: bytes
    chains: Annotated[
        list[Annotated[list[ProcessorColumns], msgspec.Meta(max_length=16)]], msgspec.Meta(max_length=4096)
    ]
    """The distinct lists of processors, distinguished by the processors' names."""
    chain: Numbers
    """Index of the token's list in `chains`; unknown: its processors are not reported."""
    later: bytes
    """JSON `[[index, {field: value}]]` of later fields that differ from their defaults."""


def expected_logprob(token: int, ids: Sequence[int], logits: Sequence[float], log_normalizer: float | None) -> float:
    """The log-probability up to rounding; 0 where it does not follow from the candidates."""
    return logits[ids.index(token)] - (log_normalizer or 0.0) if token in ids else 0.0
