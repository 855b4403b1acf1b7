"""A worker's account of its own work at one moment, which it publishes once a second. Knows nothing of its readers.

Counters only grow while the process lives, and begin at 0 with it. Two snapshots of one life give a rate.
"""

from __future__ import annotations

from typing import Literal

import msgspec

HISTORY_S = 900
"""Seconds of snapshots that Redis keeps of each worker."""
SILENT_S = 5
"""Seconds after which a worker without a new snapshot counts as lost."""

WorkState = Literal["waiting", "prefill", "decode", "paused"]
"""waiting: in the queue, for the first time or after a preemption. prefill: its prompt is being read. decode: its
answer is being written. paused: in step mode, its next token waits for a person's choice."""


class WorkerRequest(msgspec.Struct, frozen=True):
    """A request that the worker has taken and not ended. A value that the back end does not know is None."""

    request_id: str
    attempt: int
    accepted_unix_us: int
    """Time at which the site accepted it, µs since the epoch."""
    state: WorkState | None
    num_prompt_tokens: int
    """Tokens to be read: the prompt, and the tokens with which a fork's or resumed answer begins."""
    num_computed_tokens: int | None
    """Tokens of prompt and answer that are computed or were found in the cache. A preemption sets it to 0."""
    num_output_tokens: int
    """Tokens sampled so far."""


class StepCounters(msgspec.Struct, frozen=True):
    """The engine's steps. A step computes a batch of sequences once."""

    num_steps: int
    """Counter: steps that computed at least one token."""
    total_us: int
    """Counter: time of those steps, in µs."""
    last_us: int
    """Time of the last step, in µs."""
    last_num_sequences: int
    """Batch size of the last step: its sequences."""
    last_num_tokens: int
    """Tokens that the last step computed: of prompts, of answers, and guesses."""
    num_preemptions: int
    """Counter: how often a sequence had to give up its blocks."""


class KVBlocks(msgspec.Struct, frozen=True):
    """The blocks of the key/value cache. A block is used, cached or free."""

    block_size: int
    """Tokens per block."""
    num_blocks: int
    num_used: int
    """Blocks in the tables of sequences."""
    num_cached: int
    """Blocks that no sequence uses and that the prefix cache keeps. They make room when it is needed."""


class PrefixCacheCounters(msgspec.Struct, frozen=True):
    """Input tokens looked up in the prefix cache at each admission. Looks after a preemption do not count."""

    num_queried_tokens: int
    """Counter: input tokens of the admitted requests."""
    num_hit_tokens: int
    """Counter: those among them that the cache, or a running request with the same input, gave."""


class Work(msgspec.Struct, frozen=True):
    """What a back end does now and has done. A value that it does not know is None."""

    num_running: int
    """Streams: requests whose prompt is being read or whose answer is being written."""
    num_waiting: int | None
    """Requests that the worker has taken and that wait for their first step, or for blocks."""
    num_paused: int
    """Requests in step mode whose next token waits for a person's choice."""
    num_prefill_tokens: int | None
    """Counter: prompt tokens computed, those computed again after a preemption included."""
    num_decode_tokens: int
    """Counter: tokens sampled for answers."""
    steps: StepCounters | None
    blocks: KVBlocks | None
    cache: PrefixCacheCounters | None
    requests: tuple[WorkerRequest, ...]
    """All requests of the worker, in the order of their acceptance. Empty in the history."""


class DeviceMemory(msgspec.Struct, frozen=True):
    """Memory of the CUDA device, of all its processes together. A value that the driver does not tell is None."""

    used_bytes: int | None
    total_bytes: int | None


class WorkerSnapshot(msgspec.Struct, frozen=True):
    """One inference worker at one moment. A value that it does not know is None."""

    worker: str
    """`host:process id`, as in generation.started."""
    started_unix_us: int
    """Start of this process, µs since the epoch. Another value: another life, whose counters began at 0."""
    unix_us: int
    """Time of this snapshot by the worker's clock, µs since the epoch. It never runs backwards within a life."""
    is_stopping: bool
    """True: the worker was told to stop, and this is its last snapshot."""
    model: str
    device: str | None
    architecture: str | None
    quantization: str | None
    compute: str | None
    """The code that computes, such as the kernels."""
    server: str | None
    """Name and version of the remote back end; None: the worker's own engine."""
    rss_bytes: int | None
    """Resident memory of the process."""
    work: Work
    device_memory: DeviceMemory | None = None
    """None: the worker computes on no CUDA device, or is older than this field."""


encode_snapshot = msgspec.json.Encoder().encode
decode_snapshot = msgspec.json.Decoder(WorkerSnapshot).decode
