"""Requests, clocks and a decoder that is not a neural network but does keep its memory in blocks."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from inference.engine.drafting.draft_model import DraftModel
from inference.engine.engine import Engine
from inference.engine.model_runner import ModelRunner
from inference.engine.scheduling.prefix_cache import PrefixCache
from inference.engine.scheduling.scheduler import DEFAULT_LIMITS, Limits
from inference.engine.step_output import StepOutput
from inference.models.blocks import BLOCK_SIZE, block_bytes
from inference.models.config import ModelConfig
from inference.models.decoder import Chunk
from inference.models.decoders.kv_cache import KVCache
from inference.protocol.events import AnyEvent, TokenSampled
from inference.protocol.request import CacheMark, CacheTTL, GenerationRequest, SamplingParams, Usage
from inference.sampling import vocabulary
from inference.sampling.vocabulary import Summarise

VOCAB = 50
CONFIG = ModelConfig(
    architecture="llama",
    num_layers=1,
    hidden_size=2,
    intermediate_size=2,
    num_heads=1,
    num_kv_heads=1,
    head_dim=2,
    vocab_size=VOCAB,
    context_length=512,
    rope_theta=10_000.0,
    rope_pairing="adjacent",
    query_scale=1.0,
    norm_eps=1e-5,
    quantization="F32",
)


class StoppedClock:
    def at(self) -> int:
        return 0


@dataclass
class SetClock:
    """Seconds, as the test says."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


class Pieces:
    def piece(self, token: int) -> bytes:
        return b"%d " % token

    def is_special(self, token: int) -> bool:
        return token == 0


def prompt(seed: int, num_tokens: int) -> tuple[int, ...]:
    return tuple(random.Random(seed).choices(range(1, 50), k=num_tokens))


def marks(ids: Sequence[int], ttl: CacheTTL) -> tuple[CacheMark, ...]:
    """One breakpoint behind the whole prompt; none for the class `none`."""
    return () if ttl == "none" else (CacheMark(num_tokens=len(ids), ttl=ttl),)


def request(name: str, ids: tuple[int, ...], num_output: int = 8, **fields: object) -> GenerationRequest:
    settings: dict[str, object] = {"principal": "alice"} | fields
    return GenerationRequest(
        request_id=name,
        attempt=1,
        model="m",
        prompt_ids=ids,
        params=SamplingParams(temperature=1.0, top_p=1.0, seed=7, max_tokens=num_output),
        accepted_unix_us=0,
        **settings,  # type: ignore[arg-type]
    )


@dataclass
class FakeDecoder:
    """Writes each token where its keys would be, and makes the logits of all that it then reads back: a block that is
    lost, mixed up or overwritten changes the answer."""

    config: ModelConfig = CONFIG
    compute: str = "hash"
    device: str = "cpu"
    is_batch_invariant: bool = True
    period: int = 0
    """Not 0: it likes to repeat the token so many places back, so that drafts succeed."""
    num_computed: int = 0
    most_rows: int | None = None
    """Beyond so many it is out of memory."""
    out_of_memory: str = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes."
    poisoned: frozenset[int] = frozenset()
    """After these tokens it gives NaN."""
    steps: list[list[int]] = field(default_factory=list)
    """Rows of each chunk of each step."""
    lost_after: int | None = None
    """So many steps it computes, and then no more."""
    us_per_step: int = 4000
    us_per_row: int = 300
    now_us: int = 0
    """Its own clock, on which a step takes as long as these say."""
    slowdown: Callable[[], float] = lambda: 1.0
    """How many times as long a step takes by that clock."""

    @property
    def undisturbed_us(self) -> int:
        """What all steps so far would have taken with no slowdown."""
        return sum(self.us_per_step + self.us_per_row * sum(rows) for rows in self.steps)

    def build_cache(self, num_blocks: int) -> KVCache:
        return KVCache(self.config, num_blocks)

    def forward(self, chunks: list[Chunk], kv: KVCache) -> NDArray[np.float32]:
        self.steps.append([len(chunk.ids) for chunk in chunks])
        self.wait()
        if self.most_rows is not None and sum(self.steps[-1]) > self.most_rows:
            raise RuntimeError(self.out_of_memory)
        self.now_us += round((self.us_per_step + self.us_per_row * sum(self.steps[-1])) * self.slowdown())
        for chunk in chunks:
            self._write(chunk, kv)
        rows = [self._row(chunk, end, kv) for chunk in chunks for end in self._ends(chunk)]
        return np.array(rows, dtype=np.float32).reshape(-1, self.config.vocab_size)

    def wait(self) -> None:
        if self.lost_after is not None and len(self.steps) > self.lost_after:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

    def _write(self, chunk: Chunk, kv: KVCache) -> None:
        self.num_computed += len(chunk.ids)
        for position, token in enumerate(chunk.ids, chunk.start):
            kv.keys[0, chunk.block_table[position // BLOCK_SIZE], 0, position % BLOCK_SIZE, 0] = token

    def _ends(self, chunk: Chunk) -> range:
        end = chunk.start + len(chunk.ids)
        return range(end - chunk.num_logits + 1, end + 1)

    def _row(self, chunk: Chunk, end: int, kv: KVCache) -> NDArray[np.float32]:
        flat = kv.keys[0, list(chunk.block_table), 0, :, 0].flatten()[:end]
        ids = flat.to(int).tolist()
        digest = hashlib.sha256(repr(ids).encode()).digest()
        logits = np.random.default_rng(int.from_bytes(digest[:8], "little")).standard_normal(self.config.vocab_size)
        if self.period and len(ids) >= self.period:
            logits[ids[-self.period]] += 8
        if ids[-1] in self.poisoned:
            logits[3] = np.nan
        return logits.astype(np.float32)


@dataclass
class Run:
    """What became of one request."""

    ids: list[int] = field(default_factory=list)
    events: list[AnyEvent] = field(default_factory=list)
    usage: Usage = Usage()  # noqa: RUF009 (frozen)
    finish_reason: str | None = None
    message: str = ""

    def of(self, *kinds: type[AnyEvent]) -> list[AnyEvent]:
        return [event for event in self.events if isinstance(event, kinds)]

    def add(self, output: StepOutput) -> None:
        assert self.finish_reason is None
        self.events += output.events
        self.ids += [event.id for event in output.events if isinstance(event, TokenSampled)]
        self.usage, self.finish_reason, self.message = output.usage, output.finish_reason, output.message


def engine(
    decoder: FakeDecoder,
    num_blocks: int = 64,
    cache: PrefixCache | None = None,
    limits: Limits = DEFAULT_LIMITS,
    has_drafts: bool = False,
    summarise: Summarise = vocabulary.summarise,
    draft_model: DraftModel | None = None,
) -> Engine:
    runner = ModelRunner(decoder, num_blocks * block_bytes(decoder.config))
    return Engine(runner, Pieces(), cache, limits, summarise, has_drafts, lambda: 1000 * decoder.now_us, draft_model)


def draft_model(decoder: FakeDecoder, num_blocks: int = 64) -> DraftModel:
    return DraftModel(decoder, num_blocks, lambda: 1000 * decoder.now_us)


def run(engine: Engine, *requests: GenerationRequest) -> dict[str, Run]:
    """All at once, to the end, the blocks checked after each step."""
    runs = {each.request_id: Run() for each in requests}
    for each in requests:
        engine.submit(each, frozenset(), StoppedClock())
    while engine.has_work():
        for output in engine.step():
            runs[output.request_id].add(output)
        engine.check_integrity()
    return runs
