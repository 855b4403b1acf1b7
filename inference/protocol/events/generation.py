"""Events of a generation, from its queue to its end. Knows nothing of single tokens."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import GenerationEvent, Value
from inference.protocol.events.shown import Shown
from inference.protocol.failures import FailureCode
from inference.protocol.request import FinishReason, Usage


class GenerationQueued(GenerationEvent, frozen=True, kw_only=True, tag="generation.queued"):
    """The request entered the `generate` queue, or still waits in the engine, perhaps after a preemption."""

    attempt: int
    """Attempts count on through a request's generations."""
    queue_depth: int | None
    """Requests that wait in front of it, in the task queue or the engine's. None: a server elsewhere does not tell."""

    unredacted: ClassVar = "attempt queue_depth"
    shown: ClassVar = Shown(lane="queue", scene="queue", replay_ms=900)


class CacheShape(Value, frozen=True, kw_only=True):
    """The dimensions that set the memory of a token's keys and values, and the size of the worker's cache."""

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

    unredacted: ClassVar = "num_layers num_heads num_kv_heads head_dim bytes_per_value block_size num_blocks"


class GenerationStarted(GenerationEvent, frozen=True, kw_only=True, tag="generation.started"):
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
    """The engine's number formats, e.g. `int8 per channel decode, bf16 prefill`."""
    server: str | None = None
    """The server elsewhere that computes and its version, as it reports them. None: this worker's own engine."""
    queued_us: int
    """Time from the task's arrival at the worker to the engine's admission or the server's first word."""
    cache_shape: CacheShape | None = None
    """None: not recorded, or not reported by the server elsewhere."""

    unredacted: ClassVar = "attempt device model architecture quantization compute server queued_us cache_shape"
    shown: ClassVar = Shown(lane="queue", scene="queue", replay_ms=1100)


class GenerationInterrupted(GenerationEvent, frozen=True, kw_only=True, tag="generation.interrupted"):
    """An attempt ended before its answer did; another one goes on after the last token in the log."""

    attempt: int
    cause: Literal["lost", "stopped"]
    """lost: its worker no longer renewed its lease. stopped: its worker was stopped, and handed the answer over."""
    worker: str | None = None
    """None: the engine had not begun."""
    silent_us: int
    """Time since the attempt's last event."""

    unredacted: ClassVar = "attempt cause silent_us"
    shown: ClassVar = Shown(
        lane="queue",
        is_mark=True,
        label="worker {cause}, attempt {attempt} ended",
        meaning="The worker ended before the answer did. Another attempt goes on after the last token.",
        scene="queue",
        replay_ms=900,
    )


class GenerationResumed(GenerationEvent, frozen=True, kw_only=True, tag="generation.resumed"):
    """A later attempt continues after the last token in the log."""

    attempt: int
    worker: str | None = None
    """None: not recorded."""
    num_tokens: int
    """Tokens taken over from the log. The engine reads them again; they are billed once."""

    unredacted: ClassVar = "attempt num_tokens"
    shown: ClassVar = Shown(
        lane="queue",
        is_mark=True,
        label="resumed by attempt {attempt}",
        meaning="Another attempt continued after the last token in the log.",
        scene="queue",
        replay_ms=900,
    )


class KeptCall(Value, frozen=True, kw_only=True):
    """A call that another answer made, with its result. It is not made again."""

    name: str
    arguments: str
    """JSON, as the model wrote it."""
    result: str
    is_error: bool

    unredacted: ClassVar = "is_error"


class KeptRound(Value, frozen=True, kw_only=True):
    """A generation of another answer, before the one that is forked. The fork's prompt repeats it with its results."""

    text: str
    num_tokens: int
    """Its tokens, which count to the answer's most tokens."""
    calls: tuple[KeptCall, ...]

    unredacted: ClassVar = "num_tokens calls"


class GenerationForked(GenerationEvent, frozen=True, kw_only=True, tag="generation.forked"):
    """The answer begins with tokens taken over from another answer to the same prompt; none of them was sampled here.

    The engine reads them like the prompt. They are billed as input. Positions of sampled tokens continue after them.
    """

    from_request_id: str
    """The request whose answer this one forks."""
    position: int
    """Index of the fork. Tokens before it are that answer's own. A person chose or wrote the tokens from it on."""
    ids: tuple[int, ...]
    pieces: tuple[bytes, ...]
    """Each token's own bytes (base64 in JSON)."""
    text: str
    """Text shown for these tokens. An incomplete character, or a possible stop text, comes with later text."""
    thinking: str = ""
    """The thinking among them."""
    from_generation: int | None = None
    """Number of the generation that the fork leaves; the position counts in it. None: not recorded."""
    rounds: tuple[KeptRound, ...] = ()
    """The generations before that one, with their calls and results. None of them ran here."""

    unredacted: ClassVar = "position from_generation rounds"
    shown: ClassVar = Shown(scene="tokens", replay_ms=1400)


class GenerationPreempted(GenerationEvent, frozen=True, kw_only=True, tag="generation.preempted"):
    """The key/value cache was full. The sequence gave up its blocks and waits. Its text so far stays."""

    num_tokens: int
    """Tokens to be computed again, unless the prefix cache still has them."""
    num_blocks: int
    """Blocks it gave up, shared ones included."""

    unredacted: ClassVar = "num_tokens num_blocks"
    shown: ClassVar = Shown(
        lane="queue",
        is_mark=True,
        label="preempted: {num_blocks|block} given up",
        meaning="Memory was short: the request gave up its blocks and waited. Its text so far stays.",
    )


class GenerationFinished(GenerationEvent, frozen=True, kw_only=True, tag="generation.finished"):
    """The sequence left the engine."""

    finish_reason: FinishReason
    usage: Usage
    prefill_us: int | None
    """Compute time of the prefill steps this sequence was in; None: not reported."""
    decode_us: int | None
    """Compute time of the decode steps this sequence was in; None: not reported."""
    message: str = ""
    """With `error`: the cause."""
    code: FailureCode | None = None
    """With `error`: the cause, for programs. None: not recorded."""
    is_cache_known: bool = True
    """False: a server elsewhere does not report its cached tokens, so all input counts as uncached."""
    num_server_prompt_tokens: int | None = None
    """Of a prompt with pictures: its tokens as the server elsewhere counts them. None: not reported."""
    num_image_tokens: int | None = None
    """Those of them that the server counts for the pictures. None: not reported."""

    unredacted: ClassVar = (
        "finish_reason usage prefill_us decode_us code is_cache_known num_server_prompt_tokens num_image_tokens"
    )
    shown: ClassVar = Shown(
        is_mark=True,
        label="generation finished: {finish_reason}",
        meaning="The sequence left the engine.",
    )
