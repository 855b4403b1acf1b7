"""Every event that can stand in a request's log. Knows nothing of who writes or reads it.

An event has `at` (µs since the request was accepted) and `type` (stage.past_tense). Its `seq` is not stored in it:
a frame carries the seq of its first event and events count on from there. The docstring under a field becomes
the TypeScript comment and the inspector's tooltip.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeVar

import msgspec

from inference.protocol.request import NO_TTL, CacheTTL, FinishReason, SamplingParams, Usage


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the values inside events."""


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of all events."""

    at: int
    """µs since the request was accepted (negative: the browser, before the request reached us)."""


# ---- request -------------------------------------------------------------------------------------------------------


class ServerPhase(Value, frozen=True, kw_only=True):
    """One entry of a Server-Timing header."""

    name: str
    duration_us: int | None = None
    """None: the server named no duration."""


class ClientTiming(Value, frozen=True, kw_only=True):
    """What the browser measured, in µs since the epoch by its own clock, except where a duration is said."""

    keydown_unix_us: int | None = None
    """When the key (or button) that sent the message was pressed."""
    sent_unix_us: int | None = None
    """When the browser handed the request to the network."""
    responded_unix_us: int | None = None
    """When the reply to the POST was complete."""
    connected_unix_us: int | None = None
    """When the request's first event arrived."""
    first_frame_unix_us: int | None = None
    """When the frame with the first token arrived."""
    first_paint_unix_us: int | None = None
    """When the first released text had been painted."""
    last_frame_unix_us: int | None = None
    """When the last frame with text arrived."""
    last_paint_unix_us: int | None = None
    """When the last text had been painted."""
    clock_offset_us: int | None = None
    """Server clock minus browser clock: the middle of what the moments of sending and arriving allow."""
    clock_offset_error_us: int | None = None
    """The true offset lies at most so far from it; None: not recorded."""
    dns_us: int | None = None
    """Resource Timing: name look-up, a duration."""
    tcp_us: int | None = None
    """Resource Timing: TCP connection, a duration."""
    tls_us: int | None = None
    """Resource Timing: TLS handshake, a duration."""
    http_version: str | None = None
    """Resource Timing: nextHopProtocol."""
    server_timing: tuple[ServerPhase, ...] | None = None
    """The Server-Timing header on the reply to the POST; None: not recorded."""


Surface = Literal["chat", "anthropic", "openai", "replay"]


class RequestAccepted(Event, frozen=True, kw_only=True, tag="request.accepted"):
    """The request is well-formed and on its way."""

    request_id: str
    surface: Surface
    """By which API it came."""
    model: str
    params: SamplingParams
    accepted_unix_us: int
    """Wall clock at acceptance, µs since the epoch: the zero of every `at`."""
    features: tuple[str, ...] = ()
    """Feature flags that travel with the request."""
    client: ClientTiming | None = None
    """What the browser knew when it sent the request."""
    tls_version: str | None = None
    """None: the connection to us was not encrypted, or a proxy in front did not say."""
    http_version: str | None = None
    """HTTP version of the connection to us."""
    received_at: int = 0
    """When the first byte of the request reached the application (at most 0: before acceptance)."""
    replay_of: str | None = None
    """The saved request that this one runs again, with the same prompt; None: it is no such run."""


class RequestCancelled(Event, frozen=True, kw_only=True, tag="request.cancelled"):
    """Somebody pressed Stop. The generation ends within one engine step."""

    by: str
    """`user`, or what else stopped it."""


class RequestFailed(Event, frozen=True, kw_only=True, tag="request.failed"):
    """Last event of a request that could not be answered."""

    stage: str
    """Where it failed: gateway, safety, context, prompt, generation, settle."""
    code: str
    """Stable word for programs: prompt_too_long, no_worker, worker_lost, service_stopped, blocked, model_unavailable,
    overloaded, unsupported, server_refused, server_failed, parent_gone, internal."""
    message: str
    """What went wrong and what to do, for people."""


class RequestFinished(Event, frozen=True, kw_only=True, tag="request.finished"):
    """Last event of an answered (or stopped) request."""

    finish_reason: FinishReason
    usage: Usage


class RequestObserved(Event, frozen=True, kw_only=True, tag="request.observed"):
    """The browser's own timing of this request, reported after the last paint."""

    client: ClientTiming


# ---- gateway -------------------------------------------------------------------------------------------------------


class Limit(Value, frozen=True, kw_only=True):
    """One limit and where it stood."""

    name: Literal["requests", "input_tokens", "output_tokens", "concurrency", "budget", "message_bytes"]
    limit: int
    remaining: int
    """Before this request took anything of it."""
    reset_unix_us: int | None = None
    """When it is full again; None where it does not refill by itself."""
    num_taken: int | None = None
    """What this request took of it; a place among the open ones comes back when it ends. None: not recorded."""
    refill_per_s: float | None = None
    """What comes back in a second by itself, 0 where nothing does; None: not recorded."""


class GatewayChecked(Event, frozen=True, kw_only=True, tag="gateway.checked"):
    """Who asked, and what the gate looked at."""

    principal: str
    """`user:<id>` or `key:<prefix>`."""
    limits: tuple[Limit, ...] = ()
    duration_us: int
    """Time in the gateway up to here."""


class GatewayRefused(Event, frozen=True, kw_only=True, tag="gateway.refused"):
    """The gate said no."""

    principal: str
    limit: Limit
    message: str


# ---- safety --------------------------------------------------------------------------------------------------------


class SafetyScore(Value, frozen=True, kw_only=True):
    """One category's score."""

    category: str
    score: float
    """0 to 1."""
    threshold: float
    """At or above: the verdict of this category applies."""
    verdict: Literal["allow", "flag", "block"]
    """What this score led to."""


class SafetyChecked(Event, frozen=True, kw_only=True, tag="safety.checked"):
    """A classifier looked at a piece of text."""

    layer: Literal["input", "tool_result", "output"]
    classifier: str
    version: str
    policy: str
    """Name and version of the policy file that set the thresholds."""
    scores: tuple[SafetyScore, ...]
    verdict: Literal["allow", "flag", "rewrite", "block"]
    start: int
    """First character of the text looked at (input: of the message; output: of the answer)."""
    end: int
    """One past the last character."""
    duration_us: int
    held_us: int = 0
    """Output only: how long the oldest text of this span was held back."""


# ---- context -------------------------------------------------------------------------------------------------------

SegmentKind = Literal["system", "tools", "memory", "summary", "history", "attachment", "user", "template"]


class Segment(Value, frozen=True, kw_only=True):
    """A stretch of the prompt with one origin."""

    kind: SegmentKind
    role: str
    """The chat role it is rendered under; empty for the template's own tokens."""
    start: int
    """First token, as an index into the prompt."""
    end: int
    """One past the last token."""
    source: str
    """Where it came from, e.g. `message:<id>`, `conversation:system`, `template`."""
    text: str
    """The text of this segment, exactly as the model received it."""


class Dropped(Value, frozen=True, kw_only=True):
    """Something that did not go into the prompt."""

    kind: SegmentKind
    source: str
    num_tokens: int
    reason: str
    text: str = ""
    """Its beginning, at most 200 characters."""


class ContextAssembled(Event, frozen=True, kw_only=True, tag="context.assembled"):
    """The prompt, segment by segment, in order and without gaps."""

    window: int
    """The model's context window, in tokens."""
    reserved_output: int
    """Tokens kept free for the answer."""
    num_prompt_tokens: int
    segments: tuple[Segment, ...]
    dropped: tuple[Dropped, ...] = ()
    duration_us: int


class SegmentChange(Value, frozen=True, kw_only=True):
    """A segment whose text is another than in the request before."""

    index: int
    """Of the segment in this request's context."""
    num_tokens: int
    """What it had before."""
    text: str = ""
    """What it was before: its beginning, at most 200 characters; never in a trace."""


class ContextCompared(Event, frozen=True, kw_only=True, tag="context.compared"):
    """The prompt was compared with the request before it in its conversation, once this one had ended.

    A trace tells of that request's texts only where they differ: the texts themselves (`there`, and those of `changed`
    and `removed`) are read from its own trace when they are asked for, and are gone with it.
    """

    request_id: str
    """The request before: the newest that was settled when this one was accepted."""
    model: str
    num_prompt_tokens: int
    num_answer_tokens: int
    num_common_tokens: int
    """From the start: this prompt's tokens that are those of the prompt before and of the answer after it."""
    here: tuple[bytes, ...]
    """From the first difference on, at most 8 of this prompt's tokens, as bytes (base64 in JSON)."""
    there: tuple[bytes, ...] = ()
    """What stood there before; never in a trace."""
    is_number: bool | None = None
    """Whether a number stands at the first difference on both sides, as of a date; None: not recorded."""
    added: tuple[int, ...]
    """Segments that were not in the prompt before, as indices into this request's context."""
    changed: tuple[SegmentChange, ...]
    """Segments of the same source with another text. All that are neither added nor changed were kept."""
    removed: tuple[Dropped, ...]
    """What the prompt before had and this one has not; the template's own apart."""


class PromptTokenized(Event, frozen=True, kw_only=True, tag="prompt.tokenized"):
    """The prompt as the model sees it."""

    tokenizer: str
    version: str
    """Hash of the tokenizer's definition."""
    ids: tuple[int, ...]
    pieces: tuple[bytes, ...]
    """Each token's own bytes (base64 in JSON)."""
    special: tuple[int, ...] = ()
    """Indices of the tokens that are control tokens."""
    lossy_bytes: int = 0
    """Bytes of the text that the vocabulary cannot express and that were therefore lost."""
    duration_us: int


# ---- generation ----------------------------------------------------------------------------------------------------


class GenerationQueued(Event, frozen=True, kw_only=True, tag="generation.queued"):
    """Handed to the `generate` queue; said again while it waits in the engine, also after a preemption."""

    attempt: int
    queue_depth: int | None
    """Requests waiting in front of it, in the task queue or in the engine's; None: a server elsewhere does not tell."""


class CacheShape(Value, frozen=True, kw_only=True):
    """What makes up the memory of a token's keys and values, and how much of it the worker has."""

    num_layers: int
    num_heads: int
    """Query heads."""
    num_kv_heads: int
    """Key/value heads, which the query heads share in equal groups (grouped-query attention, arXiv 2305.13245)."""
    head_dim: int
    bytes_per_value: int
    block_size: int
    """Tokens per block."""
    num_blocks: int
    """Blocks of the whole cache."""


class GenerationStarted(Event, frozen=True, kw_only=True, tag="generation.started"):
    """A worker's engine admitted the sequence, or a server elsewhere began to answer."""

    worker: str
    attempt: int
    device: str | None
    """None, here and in the next fields: not reported by the server elsewhere."""
    model: str
    architecture: str | None
    quantization: str | None
    """The weights' format in the file, e.g. Q4_1."""
    compute: str | None
    """What the engine computes with, e.g. `int8 per channel decode, bf16 prefill`."""
    server: str | None = None
    """The server elsewhere that computes, with its version, by its own word; None: this worker's own engine."""
    queued_us: int
    """From the task's arrival at the worker to the engine's admission or the server's first word."""
    cache_shape: CacheShape | None = None
    """None: not recorded, or not reported by the server elsewhere."""


class GenerationResumed(Event, frozen=True, kw_only=True, tag="generation.resumed"):
    """A later attempt continues after the last token in the log."""

    attempt: int
    num_tokens: int
    """Tokens taken over from the log."""


class GenerationForked(Event, frozen=True, kw_only=True, tag="generation.forked"):
    """The answer begins with tokens taken over from another answer to the same prompt; here they were not sampled.

    They are read like the prompt, and billed as input; the positions of the tokens sampled go on after them.
    """

    from_request_id: str
    """The request whose answer it left."""
    position: int
    """Where it left: the tokens before are that answer's own, those from here on were chosen or written by a person."""
    ids: tuple[int, ...]
    pieces: tuple[bytes, ...]
    """Each token's own bytes (base64 in JSON)."""
    text: str
    """What is shown of them: a character that is not whole, or what may become a stop text, comes with later text."""


class GenerationPreempted(Event, frozen=True, kw_only=True, tag="generation.preempted"):
    """The key/value cache was full: the sequence gave up its blocks and waits. What it has written stays."""

    num_tokens: int
    """Tokens to be computed again, unless the prefix cache still has them."""
    num_blocks: int
    """Blocks it gave up, shared ones included."""


class GenerationFinished(Event, frozen=True, kw_only=True, tag="generation.finished"):
    """The sequence left the engine."""

    finish_reason: FinishReason
    usage: Usage
    prefill_us: int | None
    """Compute time of the prefill steps this sequence was in; None: not reported."""
    decode_us: int | None
    """Compute time of the decode steps this sequence was in; None: not reported."""
    message: str = ""
    """With `error`: what went wrong."""
    is_cache_known: bool = True
    """False: a server elsewhere does not say what it took from its cache; all input is counted as uncached."""


# ---- cache ---------------------------------------------------------------------------------------------------------


Absence = Literal["expired", "evicted", "never", "unknown"]
"""Why a block is not in the prefix cache: its time to live ran out; it made room for others; this worker never kept it;
or that is not known, because the worker has forgotten what it evicted long ago."""


class CacheLookedUp(Event, frozen=True, kw_only=True, tag="cache.looked_up"):
    """The prompt's blocks were looked up in the prefix cache and in running requests with the same prompt.

    After a preemption the answer's too.
    """

    block_size: int
    """Tokens per block."""
    hits: tuple[bool, ...]
    """Per full block, whether its keys and values were taken from the cache. The last token is always computed."""
    num_cached_tokens: int
    """Tokens taken over: of a running request's equal prompt also those of its last block, which is partly filled."""
    saved_us: int | None = None
    """How long the tokens taken over took to be read, by the steps that read them: a step's time is shared evenly among
    its tokens. None: not known of any. Where `num_timed_tokens` is None: estimated from the speed of other steps."""
    num_timed_tokens: int | None = None
    """Of the tokens taken over, those whose reading was timed; the others were generated. None: not recorded."""
    ttl: CacheTTL = NO_TTL
    """For how long the client wants the blocks kept."""
    blocks: tuple[int, ...] | None = None
    """The block table: which block of the cache holds each block_size tokens, those taken over first. None, here and in
    the next fields: not recorded."""
    num_owners: tuple[int, ...] | None = None
    """Per block taken over, the sequences that have it in their tables, this one included."""
    eviction_ranks: tuple[int, ...] | None = None
    """Per block taken over, its place among those that could have been evicted before the look-up, from 1, the next to
    go; 0: it was in use, and could not."""
    num_idle_blocks: int | None = None
    """Cached blocks that nobody used before the look-up."""
    num_free_blocks: int | None = None
    """Blocks with nothing in them before the look-up."""
    absence: Absence | None = None
    """Why the first block that was not found was not there; None also where none was wanting."""


class CacheStored(Event, frozen=True, kw_only=True, tag="cache.stored"):
    """Blocks of this request became reusable."""

    num_blocks: int
    ttl: CacheTTL = NO_TTL
    """How long they live after their last use; `none`: until their room is needed."""
    indices: tuple[int, ...] | None = None
    """Their places in the request's block table. None, here and in the next: not recorded."""
    blocks: tuple[int, ...] | None = None
    """Which blocks of the cache they are."""


class CacheEvicted(Event, frozen=True, kw_only=True, tag="cache.evicted"):
    """Blocks were dropped from the cache to make room for this request."""

    num_blocks: int
    blocks: tuple[int, ...] | None = None
    """Which blocks of the cache they were. None: not recorded."""


# ---- batch ---------------------------------------------------------------------------------------------------------


class BatchComposed(Event, frozen=True, kw_only=True, tag="batch.composed"):
    """In what company this request's steps are computed, from this step on until the next such event.

    Numbers alone: who the others are is not recorded.
    """

    decoding: tuple[int, ...]
    """Tokens of each other sequence that decodes: 1, and its guesses; descending."""
    prefilling: tuple[int, ...]
    """Tokens of each other sequence's chunk of its prompt, descending."""
    num_waiting: int
    """Requests that wait for admission."""


# ---- prefill -------------------------------------------------------------------------------------------------------


class PrefillAdvanced(Event, frozen=True, kw_only=True, tag="prefill.advanced"):
    """One chunk of the prompt was computed."""

    start: int
    """First prompt token of the chunk."""
    end: int
    """One past the last."""
    total: int
    """Prompt tokens in all."""
    step_us: int
    """Duration of the engine step."""
    num_sequences: int | None
    """Sequences in the same step, this one included; None: not reported."""
    num_batched_tokens: int | None
    """Tokens in the same step, over all sequences; None: not reported."""


# ---- token ---------------------------------------------------------------------------------------------------------


StageName = Literal[
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


class SamplerStage(Value, frozen=True, kw_only=True):
    """What one stage of the sampler did to this token's distribution."""

    name: StageName
    num_candidates: int
    """Tokens left after the stage: always a run of the candidate order."""
    mass: float
    """Share of the probability before the stage that its survivors held (1 where nothing was removed)."""
    log_normalizer: float
    """log-sum-exp of the survivors' logits after the stage: p = exp(logit - log_normalizer)."""
    logits: tuple[float, ...] | None = None
    """The recorded candidates' logits after a stage that changes them (bias, penalties, DRY); the masked have none."""
    first: int = 0
    """Where the run of tokens that are left begins, in candidate order: 0 but for typical-p."""
    masked: tuple[int, ...] = ()
    """Ids of recorded tokens that this stage (grammar, banned tokens) removed; they stand after the candidates."""


class TokenSampled(Event, frozen=True, kw_only=True, tag="token.sampled"):
    """One token was chosen.

    Candidate order is by logit after the penalties, descending, ties by id; tokens removed before that are no
    candidates. Every stage from the temperature on keeps a run of that order.
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
    """log-probability under the model's own distribution, before any stage; None, here and in the next fields: not
    reported by a server elsewhere."""
    rank: int | None
    """Rank by the model's own logits, from 1."""
    entropy: float | None
    """Of the model's own distribution, in nats."""
    u: float | None
    """The uniform draw in [0, 1); None also when greedy."""
    low: float | None
    """The chosen token's interval of the cumulative final distribution: it holds u. Greedy: 0."""
    high: float | None
    """End of that interval. Greedy: 1."""
    log_normalizer: float | None
    """log-sum-exp of the raw logits over the whole vocabulary."""
    candidate_ids: tuple[int, ...]
    """The first candidates in candidate order, then the chosen one when it is not among them, then those of the
    model's own first tokens that a stage masked."""
    candidate_logits: tuple[float, ...]
    """Their raw logits; their log-probabilities under the model's own distribution where log_normalizer is None."""
    candidate_pieces: tuple[bytes, ...]
    """Their bytes (base64 in JSON)."""
    stages: tuple[SamplerStage, ...] | None
    """In the order applied; stages that are off are absent. None: not reported."""
    step_us: int | None
    """Duration of the engine step that produced it; None: not reported."""
    batch_size: int | None
    """Sequences in that step; None: not reported."""
    chosen_by: Literal["draw", "person"] = "draw"
    """Person: in step mode another candidate was taken than the one that u draws; low and high are then None."""


class TokenProposed(Event, frozen=True, kw_only=True, tag="token.proposed"):
    """Step mode: the next token is drawn, and waits for a person to take it or another one."""

    token: TokenSampled
    """What is sampled if the draw is taken."""


# ---- draft, grammar ------------------------------------------------------------------------------------------------


DraftSource = Literal["ngram", "draft_model"]


class DraftVerified(Event, frozen=True, kw_only=True, tag="draft.verified"):
    """Guesses of the next tokens were checked in one pass; the tokens sampled follow."""

    position: int
    """Index of the first guess in the answer."""
    ids: tuple[int, ...]
    """The guesses; those after a stop text are left out, as their tokens are."""
    pieces: tuple[bytes, ...] = ()
    """Their bytes (base64 in JSON)."""
    num_accepted: int
    """How many of them, from the first on, are what was then sampled; the others were computed for nothing."""
    source: DraftSource


class GrammarMasked(Event, frozen=True, kw_only=True, tag="grammar.masked"):
    """The constraint removed tokens before sampling."""

    position: int
    num_allowed: int
    duration_us: int


# ---- text ----------------------------------------------------------------------------------------------------------


class TextReleased(Event, frozen=True, kw_only=True, tag="text.released"):
    """Text that the output guard let through: complete UTF-8, to be shown now."""

    text: str
    num_tokens: int
    """Generated tokens whose text has been released so far (a token split over a character counts when it is whole)."""


class TextWithheld(Event, frozen=True, kw_only=True, tag="text.withheld"):
    """Text that the output guard stopped. Neither the text nor its tokens are in the log."""

    num_tokens: int
    """How many tokens were withheld."""
    category: str
    replacement: str
    """What is shown instead."""


# ---- tool ----------------------------------------------------------------------------------------------------------


class ToolCalled(Event, frozen=True, kw_only=True, tag="tool.called"):
    """The model called a tool."""

    call_id: str
    name: str
    arguments: str
    """JSON, as the model wrote it."""
    source: Literal["builtin", "mcp"]
    sandbox: str = ""


class ToolFinished(Event, frozen=True, kw_only=True, tag="tool.finished"):
    """A tool answered."""

    call_id: str
    result: str
    is_error: bool = False
    duration_us: int


# ---- bill ----------------------------------------------------------------------------------------------------------


class BillLine(Value, frozen=True, kw_only=True):
    """One kind of token on the bill."""

    kind: Literal["uncached_input", "cache_read", "cache_write_5m", "cache_write_1h", "output"]
    num_tokens: int
    unit_price_nano: int
    """Price of one token in billionths of the currency unit."""
    amount_nano: int
    """num_tokens * unit_price_nano."""


class BillPosted(Event, frozen=True, kw_only=True, tag="bill.posted"):
    """The request's bill entered the ledger, once."""

    currency: str
    price_version: str
    """Which row of the price table was used."""
    lines: tuple[BillLine, ...]
    total_nano: int


# ---- probe ---------------------------------------------------------------------------------------------------------


class ProbeAttended(Event, frozen=True, kw_only=True, tag="probe.attended"):
    """What one token attended to, per layer and head, in a forward pass made again for it.

    Probes are made on demand, also long after the request ended: they stand beside its log, never in it.
    """

    position: int
    """The token that looks: its index in prompt and answer together."""
    num_layers: int
    num_heads: int
    weights: bytes
    """[num_layers, num_heads, position + 1], one byte each (base64 in JSON): (byte / 255) squared, so that small
    weights are seen; at most 0.004 times the weight's root beside the weight."""
    compute: str
    """In which format the pass was computed."""
    duration_us: int


class LensLayer(Value, frozen=True, kw_only=True):
    """What the residual stream after one layer would say next."""

    ids: tuple[int, ...]
    """The most likely tokens, most likely first."""
    pieces: tuple[bytes, ...]
    """Their bytes (base64 in JSON); a control token's name."""
    probabilities: tuple[float, ...]
    next_probability: float | None
    """Of the token that did come next; None: none has."""
    next_rank: int | None
    """Its rank, from 1."""


class ProbeLensed(Event, frozen=True, kw_only=True, tag="probe.lensed"):
    """The logit lens: final norm and output head applied to the residual stream after each layer."""

    position: int
    """The token after which the model looks ahead: its index in prompt and answer together."""
    next_id: int | None
    """The token that came next."""
    layers: tuple[LensLayer, ...]
    """From the first layer to the last, whose words are the model's own."""
    compute: str
    """In which format the pass was computed."""
    duration_us: int


class Neighbour(Value, frozen=True, kw_only=True):
    """A token whose embedding points in nearly the same direction."""

    id: int
    piece: bytes
    """Its bytes (base64 in JSON); a control token's name."""
    cosine: float
    """Of the angle between the two embeddings, -1 to 1."""


class ProbeCompared(Event, frozen=True, kw_only=True, tag="probe.compared"):
    """A token's embedding was compared with all others of the vocabulary."""

    position: int
    """The token's index in prompt and answer together."""
    id: int
    vocab_size: int
    neighbours: tuple[Neighbour, ...]
    """The nearest first, without the token itself."""
    duration_us: int


class ProbeMeasured(Event, frozen=True, kw_only=True, tag="probe.measured"):
    """Memory of the request's keys and values once the token at `position` has been read."""

    position: int
    num_layers: int
    num_heads: int
    """Query heads."""
    num_kv_heads: int
    """Key/value heads, which the query heads share in equal groups."""
    head_dim: int
    bytes_per_value: int
    block_size: int
    """Tokens per block."""
    num_blocks: int
    """Blocks that hold position + 1 tokens."""
    num_bytes: int
    """What these blocks take, over all layers, keys and values."""
    num_bytes_ungrouped: int
    """What they would take with key/value heads of its own for every query head."""


AnyProbe = ProbeAttended | ProbeLensed | ProbeCompared | ProbeMeasured

AnyEvent = (
    RequestAccepted
    | RequestCancelled
    | RequestFailed
    | RequestFinished
    | RequestObserved
    | GatewayChecked
    | GatewayRefused
    | SafetyChecked
    | ContextAssembled
    | ContextCompared
    | PromptTokenized
    | GenerationQueued
    | GenerationStarted
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
    | TextReleased
    | TextWithheld
    | ToolCalled
    | ToolFinished
    | BillPosted
    | AnyProbe
)

TERMINAL = (RequestFinished, RequestFailed)
"""No event but `request.observed` follows one of these."""

Kind = TypeVar("Kind", bound=AnyEvent)


def first(events: Iterable[AnyEvent], kind: type[Kind]) -> Kind | None:
    """The first of that kind; None: there is none."""
    return next((event for event in events if isinstance(event, kind)), None)


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """The unit of the wire and of the log: the events of one append."""

    seq: int
    """seq of the first event, from 1; the next events count on. The frame's id is the seq of its last event."""
    events: tuple[AnyEvent, ...]

    @property
    def last_seq(self) -> int:
        return self.seq + len(self.events) - 1
