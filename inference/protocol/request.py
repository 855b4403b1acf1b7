"""What the web side asks of an inference worker. Knows nothing of how the tokens are produced."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

PROTOCOL_VERSION = 1
"""Raised when a saved trace or a queued task of the previous version could no longer be read."""

MAX_CANDIDATES = 20
"""How many candidates of each token are recorded: OpenAI's own limit for top_logprobs."""


class SamplingParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to choose each token; the stages are applied in the order of these fields."""

    repetition_penalty: float = 1.0
    """Divides positive, multiplies negative logits of tokens in the context (1 = off; CTRL, arXiv 1909.05858)."""
    frequency_penalty: float = 0.0
    """Subtracted from a generated token's logit once per earlier occurrence (-2 to 2)."""
    presence_penalty: float = 0.0
    """Subtracted once from the logit of every token generated before (-2 to 2)."""
    temperature: float = 0.2
    """Divides the logits; 0 means greedy (the most likely token, no draw)."""
    top_k: int = 0
    """Keep only the k most likely tokens (0 = off)."""
    top_p: float = 0.9
    """Keep the smallest set of tokens whose probability reaches p (1 = off; nucleus sampling, arXiv 1904.09751)."""
    min_p: float = 0.0
    """Drop tokens less likely than this share of the most likely one (0 = off; arXiv 2407.01082)."""
    seed: int | None = None
    """Key of the counter-based generator: (seed, position) gives the draw u. None: one is chosen at acceptance."""
    max_tokens: int = 512
    """Most tokens to generate."""
    stop: tuple[str, ...] = ()
    """Texts that end the answer; they are not part of it."""

    def problem(self) -> str | None:
        """The first thing wrong with these parameters, as a sentence that says what to do; None if all is well."""
        return next((text for is_wrong, text in self._checks() if is_wrong), None)

    def _checks(self) -> list[tuple[bool, str]]:
        def outside(value: float, low: float, high: float) -> bool:
            return not (math.isfinite(value) and low <= value <= high)

        return [
            (outside(self.repetition_penalty, 0.1, 10), "repetition_penalty must be between 0.1 and 10"),
            (outside(self.frequency_penalty, -2, 2), "frequency_penalty must be between -2 and 2"),
            (outside(self.presence_penalty, -2, 2), "presence_penalty must be between -2 and 2"),
            (outside(self.temperature, 0, 5), "temperature must be between 0 and 5"),
            (not 0 <= self.top_k <= 1_000_000, "top_k must be between 0 (off) and 1000000"),
            (outside(self.top_p, 0, 1) or self.top_p == 0, "top_p must be greater than 0 and at most 1"),
            (outside(self.min_p, 0, 1), "min_p must be between 0 and 1"),
            (self.seed is not None and not 0 <= self.seed < 2**53, "seed must be between 0 and 9007199254740991"),
            (not 1 <= self.max_tokens <= 1_000_000, "max_tokens must be between 1 and 1000000"),
            (len(self.stop) > 4, "stop takes at most 4 texts"),
            (any(not text or len(text) > 200 for text in self.stop), "stop texts must each have 1 to 200 characters"),
        ]


class GenerationRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One generation: everything the worker needs, so that no worker keeps a session."""

    version: int = PROTOCOL_VERSION
    request_id: str
    attempt: int
    """Fences the log: appends of an older attempt are refused."""
    model: str
    prompt_ids: tuple[int, ...]
    """The whole prompt, as token ids."""
    params: SamplingParams
    accepted_unix_us: int
    """When the request was accepted, in µs since the epoch: the zero of every event's `at`."""
    num_candidates: int = MAX_CANDIDATES
    """How many candidates of each token to record."""
    is_guarded: bool = True
    """Whether the output guard checks text before it is released."""
    cache_salt: str
    """Separates tenants in the prefix cache."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens by price class. The five never overlap; their sum is everything processed."""

    uncached_input: int = 0
    """Prompt tokens computed for this request."""
    cache_read: int = 0
    """Prompt tokens taken from the prefix cache."""
    cache_write_5m: int = 0
    """Prompt tokens computed and written to the cache for 5 minutes at the client's wish."""
    cache_write_1h: int = 0
    """Prompt tokens computed and written to the cache for 1 hour at the client's wish."""
    output: int = 0
    """Tokens generated, the end-of-turn token included."""


FinishReason = Literal["stop", "length", "abort", "error", "content_filter"]
