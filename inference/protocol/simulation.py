"""A simulated run of the engine's scheduler: the request and the result. Knows nothing of how it is run.

The exhibits ask for these. Scheduler, blocks and prefix cache are the engine's own; only the clock is simulated, and
each request's answer is known beforehand.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from inference.protocol.request import NO_TTL, CacheTTL, Problem, Usage

MAX_ARRIVALS = 48
MAX_TOKENS = 1 << 16
"""Limit of all prompts and answers together."""
MAX_STEPS = 4096
"""Limit of a run: some two seconds of work at most."""
MAX_ANSWER_TOKENS = 256
MAX_BLOCKS = 4096
MAX_RECORDED_BLOCKS = 128
"""Limit of `num_blocks` with `has_blocks`."""
_MAX_ID = 1 << 31
_MAX_US = 1 << 40
"""Some 12 days."""


class _Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all structs in this module."""


class SimulatedArrival(_Value, frozen=True, kw_only=True):
    """One request to come."""

    at_us: int
    """Moment of arrival, from the beginning of the run."""
    user: str
    """The request's user. Users share no blocks, and take turns."""
    prompt: tuple[int, ...]
    """Token ids."""
    answer: tuple[int, ...]
    """Token ids of its answer, known beforehand."""
    ttl: CacheTTL = NO_TTL
    """Time for which its prompt's blocks are to be kept."""


class SimulationRequest(_Value, frozen=True, kw_only=True):
    """A simulated worker and the requests that come to it."""

    arrivals: tuple[SimulatedArrival, ...]
    num_blocks: int
    """Blocks of the key/value cache."""
    max_num_running: int
    token_budget: int
    """Tokens of a step in which no sequence decodes."""
    mixed_budget: int
    """Tokens of a step in which a sequence decodes."""
    step_us: int
    """Time of a step, without the time of its tokens, token_us each."""
    token_us: int
    has_cache: bool = True
    """True: the run has a prefix cache."""
    has_blocks: bool = False
    """True: record the contents of the blocks."""

    def problem(self) -> Problem | None:
        """The first thing wrong; None if all is well. A later check finds requests that do not fit into the blocks."""
        return next((Problem(field, text) for is_wrong, field, text in self._checks() if is_wrong), None)

    def _checks(self) -> list[tuple[bool, str, str]]:
        arrivals = self.arrivals
        num_tokens = sum(len(each.prompt) + len(each.answer) for each in arrivals)
        most_blocks = MAX_RECORDED_BLOCKS if self.has_blocks else MAX_BLOCKS
        return [
            (not 1 <= len(arrivals) <= MAX_ARRIVALS, "arrivals", f"must be 1 to {MAX_ARRIVALS} requests"),
            (num_tokens > MAX_TOKENS, "arrivals", f"may have {MAX_TOKENS} tokens together"),
            (any(not each.prompt for each in arrivals), "arrivals", "need a prompt of at least one token each"),
            (
                any(not 1 <= len(each.answer) <= MAX_ANSWER_TOKENS for each in arrivals),
                "arrivals",
                f"need an answer of 1 to {MAX_ANSWER_TOKENS} tokens each",
            ),
            (
                any(not 0 <= token < _MAX_ID for each in arrivals for token in (*each.prompt, *each.answer)),
                "arrivals",
                f"have token ids from 0 to {_MAX_ID - 1}",
            ),
            (any(not 0 <= each.at_us <= _MAX_US for each in arrivals), "arrivals", f"come from 0 to {_MAX_US} µs"),
            (any(not 0 < len(each.user) <= 40 for each in arrivals), "arrivals", "need a user of 1 to 40 characters"),
            (not 1 <= self.num_blocks <= most_blocks, "num_blocks", f"must be 1 to {most_blocks}"),
            (not 1 <= self.max_num_running <= 64, "max_num_running", "must be 1 to 64"),
            (not 1 <= self.token_budget <= 8192, "token_budget", "must be 1 to 8192"),
            (
                not self.max_num_running < self.mixed_budget <= self.token_budget,
                "mixed_budget",
                "must be above max_num_running and at most token_budget",
            ),
            (not 0 < self.step_us <= 10_000_000, "step_us", "must be 1 to 10000000"),
            (not 0 <= self.token_us <= 1_000_000, "token_us", "must be 0 to 1000000"),
        ]


class SimulatedShare(_Value, frozen=True, kw_only=True):
    """The tokens that a step computed for one request."""

    arrival: int
    """Index of the request."""
    num_tokens: int
    is_prefill: bool


class SimulatedNote(_Value, frozen=True, kw_only=True):
    """An event of one request at the beginning of a step."""

    kind: Literal["admitted", "preempted", "evicted"]
    """`evicted`: cached blocks made room for it."""
    arrival: int
    num: int
    """admitted: tokens found in the cache; preempted and evicted: blocks."""


class SimulatedBlock(_Value, frozen=True, kw_only=True):
    """A block that has changed since the step before."""

    block: int
    state: Literal["free", "cached", "owned"]
    """As in inference/engine/scheduling/block_manager.py."""
    num_owners: int
    arrival: int | None
    """The request that wrote the block's contents. None: they are of no use."""
    start: int
    """Its first token's index in that request's prompt and answer together."""
    num_tokens: int


class SimulatedStep(_Value, frozen=True, kw_only=True):
    """One step of the scheduler."""

    at_us: int
    duration_us: int
    shares: tuple[SimulatedShare, ...]
    waiting: tuple[int, ...]
    """Requests that have arrived and do not run, by index."""
    notes: tuple[SimulatedNote, ...]
    blocks: tuple[SimulatedBlock, ...] = ()
    """With `has_blocks`: the blocks that changed, as they stand at the step's end."""
    idle: tuple[int, ...] = ()
    """With `has_blocks`: cached blocks that no sequence uses, the first to be evicted first."""


class SimulatedStory(_Value, frozen=True, kw_only=True):
    """The outcome of one request."""

    admitted_us: int
    first_token_us: int
    """Moment at which its first answer token was there."""
    finished_us: int
    longest_gap_us: int
    """Longest time between two of its tokens."""
    num_preemptions: int
    usage: Usage


class Simulation(_Value, frozen=True, kw_only=True):
    """A whole run."""

    block_size: int
    steps: tuple[SimulatedStep, ...]
    stories: tuple[SimulatedStory, ...]
    """One story per arrival."""
