"""The web side's requests to an inference worker. Knows nothing of how the tokens are produced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from inference.protocol.safety_policy import Policy
from inference.protocol.thinking import Thinking
from inference.protocol.tool_calls import ToolCalls

PROTOCOL_VERSION = 2
"""Raised when a saved trace or a queued task of the previous version could no longer be read."""

MAX_CANDIDATES = 20
"""Most candidates recorded for each token: OpenAI's own limit for top_logprobs."""

MAX_MESSAGE_BYTES = 256 << 10
"""Limit of one message or system prompt, in UTF-8: more than the largest window holds."""
MAX_SCHEMA_CHARS = 1 << 16
MAX_REGEX_CHARS = 4096
REPETITION_CYCLES = 3
"""An answer repeats itself when its last tokens are one cycle this often, and at least REPETITION_TOKENS in all."""
REPETITION_TOKENS = 72
LONGEST_CYCLE = 256
"""A paragraph."""
_MAX_IDS = 1024
"""Most entries of one list of token ids: more than a person writes, few enough to be recorded with every request."""

RANGES: dict[str, tuple[float, float]] = {
    "repetition_penalty": (0.1, 10),
    "frequency_penalty": (-2, 2),
    "presence_penalty": (-2, 2),
    "dry_multiplier": (0, 10),
    "dry_base": (1, 10),
    "dry_allowed_length": (1, 1000),
    "dry_penalty_last_n": (-1, 1_000_000),
    "temperature": (0, 5),
    "top_k": (0, 1_000_000),
    "top_p": (0, 1),
    "min_p": (0, 1),
    "typical_p": (0, 1),
    "seed": (0, 2**53 - 1),
    "thinking_tokens": (0, 1_000_000),
    "max_tokens": (0, 1_000_000),
}
"""The least and the most of each number of SamplingParams; top_p and typical_p exclude 0, which would keep nothing."""


class LogitBias(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bias for one token's logit."""

    id: int
    """The token."""
    bias: float
    """Added to its logit (-100 to 100)."""


KeptTTL = Literal["5m", "1h"]
"""Time for which a client may want a part of its prompt kept."""
CacheTTL = Literal["none", "5m", "1h"]
"""Time for which blocks of the prefix cache live after their last use. `none`: until their room is needed."""

NO_TTL: CacheTTL = "none"


class CacheMark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A breakpoint: the client wants the prompt's full blocks up to here kept."""

    num_tokens: int
    """Tokens of the prompt before it."""
    ttl: KeptTTL


def ttl_before(marks: Sequence[CacheMark], num_tokens: int) -> CacheTTL:
    """Return the class of a block that ends after so many tokens: the longest of the marks behind it."""
    found = {mark.ttl for mark in marks if mark.num_tokens >= num_tokens}
    return "1h" if "1h" in found else "5m" if found else NO_TTL


class Problem(NamedTuple):
    """The reason why parameters are refused; as text, a sentence without its full stop."""

    field: str
    """The field that is wrong, e.g. of SamplingParams."""
    text: str
    """The fault and the remedy, to be read after the field's name or label."""

    def __str__(self) -> str:
        return f"{self.field} {self.text}"


class SamplingParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parameters that choose each token. The logits processors apply in the order of these fields."""

    json_schema: str | None = None
    """JSON Schema (as JSON text) that the answer must satisfy; an unsupported keyword is refused."""
    regex: str | None = None
    """Regular expression (Rust's syntax, no look-around) that the whole answer must match."""
    tool_calls: ToolCalls | None = None
    """Tools that the answer may or must call. With `json_schema` an answer without a call satisfies that schema."""
    banned_token_ids: tuple[int, ...] = ()
    """Tokens that are never chosen."""
    logit_bias: tuple[LogitBias, ...] = ()
    """Added to the logits of single tokens."""
    repetition_penalty: float = 1.0
    """Divides positive, multiplies negative logits of tokens in the context (1 = off; CTRL, arXiv 1909.05858)."""
    frequency_penalty: float = 0.0
    """Subtracted from a generated token's logit once per earlier occurrence (-2 to 2)."""
    presence_penalty: float = 0.0
    """Subtracted once from the logit of every token generated before (-2 to 2)."""
    dry_multiplier: float = 0.0
    """Strength of the DRY penalty on tokens that would extend a repeated sequence of the answer (0 = off)."""
    dry_base: float = 1.75
    """The DRY penalty is the multiplier times this, once per repeated token beyond the allowed length."""
    dry_allowed_length: int = 2
    """Repeated sequences of this many tokens are free. The token that would make one longer is penalised."""
    dry_penalty_last_n: int = -1
    """Number of the answer's last tokens that DRY looks at (-1 = all of them, 0 = none)."""
    dry_sequence_breakers: tuple[str, ...] = ("\n", ":", '"', "*")
    """No repeated sequence spans a token whose text has one of these. DRY does not penalise such a token."""
    temperature: float = 0.2
    """Divides the logits; 0 means greedy (the most likely token, no draw)."""
    top_k: int = 0
    """Keep only the k most likely tokens (0 = off)."""
    top_p: float = 0.9
    """Keep the smallest set of tokens whose probability reaches p (1 = off; nucleus sampling, arXiv 1904.09751)."""
    min_p: float = 0.0
    """Drop tokens less likely than this share of the most likely one (0 = off; arXiv 2407.01082)."""
    typical_p: float = 1.0
    """Keep the tokens whose surprise is nearest to the entropy, until they reach p (1 = off; arXiv 2202.00666)."""
    seed: int | None = None
    """Key of the counter-based generator: (seed, position) gives the draw u. None: one is chosen at acceptance."""
    thinking_tokens: int | None = None
    """Most tokens that a model which thinks may think before its answer (0: it does not think; None: no such limit)."""
    max_tokens: int = 512
    """Most tokens of the answer. 0: the prompt is read into the prefix cache, and there is no answer."""
    stop: tuple[str, ...] = ()
    """Texts that end the answer; they are not part of it."""
    stop_token_ids: tuple[int, ...] = ()
    """Tokens that end the answer, besides the model's own end of turn; their text is not part of it."""
    stop_on_repetition: bool = True
    """End the answer where its last tokens repeat one cycle: see REPETITION_CYCLES."""

    def problem(self) -> Problem | None:
        """The first thing wrong with these parameters; None if all is well."""
        return next(iter(self.problems()), None)

    def problems(self) -> list[Problem]:
        """All that is wrong with these parameters."""
        return [Problem(field, text) for is_wrong, field, text in self._checks() if is_wrong]

    def _checks(self) -> list[tuple[bool, str, str]]:
        schema, regex, calls = self.json_schema, self.regex, self.tool_calls
        tools_problem = None if calls is None else calls.problem()
        return [
            (schema is not None and regex is not None, "json_schema", "and regex cannot both be given; choose one"),
            (regex is not None and calls is not None, "regex", "and tool_calls cannot both be given; choose one"),
            (tools_problem is not None, "tool_calls", tools_problem or ""),
            (len(schema or "") > MAX_SCHEMA_CHARS, "json_schema", f"may have at most {MAX_SCHEMA_CHARS} characters"),
            (len(regex or "") > MAX_REGEX_CHARS, "regex", f"may have at most {MAX_REGEX_CHARS} characters"),
            (len(self.logit_bias) > _MAX_IDS, "logit_bias", f"takes at most {_MAX_IDS} entries"),
            (
                any(_is_outside(entry.bias, -100, 100) for entry in self.logit_bias),
                "logit_bias",
                "must be from -100 to 100",
            ),
            (len({entry.id for entry in self.logit_bias}) < len(self.logit_bias), "logit_bias", "names a token twice"),
            (len(self.banned_token_ids) > _MAX_IDS, "banned_token_ids", f"takes at most {_MAX_IDS} ids"),
            *(self._range_check(name, *ends) for name, ends in RANGES.items()),
            (len(self.dry_sequence_breakers) > 16, "dry_sequence_breakers", "takes at most 16 texts"),
            (
                any(not text or len(text) > 40 for text in self.dry_sequence_breakers),
                "dry_sequence_breakers",
                "must have texts of 1 to 40 characters each",
            ),
            (len(self.stop) > 4, "stop", "takes at most 4 texts"),
            (
                any(not text or len(text) > 200 for text in self.stop),
                "stop",
                "must have texts of 1 to 200 characters each",
            ),
            (len(self.stop_token_ids) > _MAX_IDS, "stop_token_ids", f"takes at most {_MAX_IDS} ids"),
        ]

    def _range_check(self, name: str, low: float, high: float) -> tuple[bool, str, str]:
        value: float | None = getattr(self, name)
        if name in ("top_p", "typical_p"):
            return value == 0 or _is_outside(value, low, high), name, f"must be greater than {low} and at most {high}"
        return _is_outside(value, low, high), name, f"must be between {low} and {high}"

    def id_problem(self, num_ids: int) -> Problem | None:
        """The first token id that is not below num_ids."""
        ids_of = {
            "logit_bias": [entry.id for entry in self.logit_bias],
            "banned_token_ids": self.banned_token_ids,
            "stop_token_ids": self.stop_token_ids,
        }
        wrong = ((name, token) for name, ids in ids_of.items() for token in ids if not 0 <= token < num_ids)
        found = next(wrong, None)
        if found is None:
            return None
        return Problem(found[0], f"has the id {found[1]}; this model's ids go from 0 to {num_ids - 1}")


def _is_outside(value: float | None, low: float, high: float) -> bool:
    return value is not None and not low <= value <= high  # so is NaN


class ChatPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a message: a text, or a picture."""

    text: str = ""
    image: str = ""
    """SHA-256 of the picture's bytes, which lie ready under it. Empty: it is a text."""
    media_type: str = ""


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message of a prompt with pictures."""

    role: str
    parts: tuple[ChatPart, ...]


class GenerationRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One generation: everything the worker needs, so that no worker keeps a session."""

    version: int = PROTOCOL_VERSION
    request_id: str
    attempt: int
    """Fences the log: appends of an older attempt are refused."""
    generation: int = 0
    """Number of the generation in its request, from 0; it stands in each event of the generation."""
    log_seq: int = 0
    """The log's last seq when the generation was queued: a log that ends before it has lost events."""
    is_resumed: bool = False
    """True: an earlier attempt was interrupted. The log has the tokens that it released."""
    model: str
    prompt_ids: tuple[int, ...]
    """The whole prompt, as token ids."""
    chat: tuple[ChatMessage, ...] = ()
    """The prompt as messages, where it has pictures: a server elsewhere makes its tokens. Empty: see `prompt_ids`."""
    kept_ids: tuple[int, ...] = ()
    """The answer so far, where it continues another one (see events.GenerationForked)."""
    kept_text: str = ""
    """The text of it that is shown already."""
    kept_thinking: str = ""
    """The thinking before that text."""
    thinking: Thinking | None = None
    """The thinking with which the answer may begin; None: there is none."""
    is_stepped: bool = False
    """Step mode: each token is proposed, and taken by a StepCommand."""
    may_guess: bool = True
    """Speculative decoding: the engine may guess tokens ahead. The tokens are the same without it."""
    params: SamplingParams
    accepted_unix_us: int
    """When the request was accepted, in µs since the epoch: the zero of every event's `at`."""
    num_candidates: int = MAX_CANDIDATES
    """Number of candidates to record for each token."""
    is_guarded: bool = True
    """True: the output guard checks text before it is released."""
    policy: Policy | None = None
    """The policy of these checks; None: that of the worker's own file."""
    principal: str
    """The request's owner. It separates the prefix cache's contents. Fairness between users counts by it."""
    cache_marks: tuple[CacheMark, ...] = ()
    """Places up to which the client wants the prompt's blocks kept. It pays for those that only this request wrote."""
    priority: int = 0
    """A waiting request with a higher priority goes first. One with a lower priority gives up its blocks first."""


class StepCommand(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's command to an answer: to end its thinking, or in step mode."""

    generation: int = 0
    """The generation of the proposed token."""
    position: int
    """Position of the proposed token. A command for a token that was taken before is void."""
    token_id: int | None = None
    """The candidate to take; None: the one drawn."""
    num_tokens: int | None = 1
    """Number of tokens to take from here on before the next is proposed. 0: stop running on. None: all."""
    ends_thinking: bool = False
    """True: the model's thinking ends with the next token. No token is taken by this command."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens by price class. The five never overlap; their sum is everything processed."""

    uncached_input: int = 0
    """Prompt tokens (a fork's kept ones too) computed for this request, except those written to the cache as below."""
    cache_read: int = 0
    """Prompt tokens taken from the prefix cache, or from another request of the same principal with the same prompt."""
    cache_write_5m: int = 0
    """Prompt tokens computed and written to the cache for 5 minutes at the client's wish: full blocks new to it."""
    cache_write_1h: int = 0
    """Prompt tokens computed and written to the cache for 1 hour at the client's wish: full blocks new to it."""
    output: int = 0
    """Tokens generated, the end-of-turn token included."""


MAX_PROBE_TOKENS = 2048
"""Context that a probe looks at: some twenty seconds at half of a core, and 0.5 MB of the bundled model's attention."""

ProbeKind = Literal["attention", "sources", "lens", "neighbours", "memory"]


class ProbeRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One probe of a token in a request that was computed before: everything the worker needs."""

    request_id: str
    accepted_unix_us: int
    kind: ProbeKind
    ids: tuple[int, ...]
    """Prompt and answer up to the probed token, which is the last."""
    next_id: int | None
    """The token that came after it."""
    principal: str
    """As in GenerationRequest: results computed for one principal are not used for another."""
    tokenizer_version: str
    """This field and the next three come from the trace. The worker's own model must match them for a true result."""
    model: str
    architecture: str
    quantization: str
    first: int = 0
    """Of `sources`: index of the first attending token."""
    starts: tuple[int, ...] = ()
    """Of `sources`: first token of each range that attention is summed over, ascending from 0."""


FinishReason = Literal["stop", "length", "abort", "error", "content_filter", "repetition"]
