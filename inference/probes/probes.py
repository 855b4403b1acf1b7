"""The five probes: a request and the model in, an event out. Knows nothing of clients.

Logit lens: nostalgebraist, "interpreting GPT: the logit lens" (2020). Grouped-query attention: arXiv 2305.13245.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor

from inference.eventlog.clock import RequestClock
from inference.models.blocks import BLOCK_SIZE, BYTES_PER_VALUE, block_bytes
from inference.models.config import ModelConfig
from inference.probes.model import ProbedModel
from inference.protocol.events import (
    LensLayer,
    Neighbour,
    ProbeAttended,
    ProbeCompared,
    ProbeLensed,
    ProbeMeasured,
    ProbeSummed,
)
from inference.protocol.request import ProbeRequest

NUM_LENS_TOKENS = 5
NUM_NEIGHBOURS = 12
_COMPUTE = "float32"

Label = Callable[[int], bytes]
"""A token's bytes, or a control token's name."""


def attend(request: ProbeRequest, model: ProbedModel) -> ProbeAttended:
    start = time.perf_counter_ns()
    attention = model.observe(request.ids).attention
    return ProbeAttended(
        at=_now(request),
        position=len(request.ids) - 1,
        num_layers=attention.shape[0],
        num_heads=attention.shape[1],
        weights=to_bytes(attention),
        compute=_COMPUTE,
        duration_us=_since(start),
    )


def sum_up(request: ProbeRequest, model: ProbedModel) -> ProbeSummed:
    start = time.perf_counter_ns()
    shares = model.sum_attention(request.ids, request.first, request.starts)
    return ProbeSummed(
        at=_now(request),
        first=request.first,
        position=len(request.ids) - 1,
        starts=request.starts,
        shares=shares.numpy().astype("<f4").tobytes(),
        num_layers=model.config.num_layers,
        num_heads=model.config.num_heads,
        compute=_COMPUTE,
        duration_us=_since(start),
    )


def to_bytes(attention: Tensor) -> bytes:
    """Encode attention weights as ProbeAttended.weights does."""
    return attention.sqrt().mul(255).round_().to(torch.uint8).numpy().tobytes()


def lens(request: ProbeRequest, model: ProbedModel, label: Label) -> ProbeLensed:
    start = time.perf_counter_ns()
    logprobs = model.read_out(model.observe(request.ids).residuals)
    return ProbeLensed(
        at=_now(request),
        position=len(request.ids) - 1,
        next_id=request.next_id,
        layers=tuple(_lens_layer(row, request.next_id, label) for row in logprobs),
        compute=_COMPUTE,
        duration_us=_since(start),
    )


def _lens_layer(logprobs: Tensor, next_id: int | None, label: Label) -> LensLayer:
    """logprobs: [vocab_size]."""
    top = logprobs.topk(min(NUM_LENS_TOKENS, len(logprobs)))
    ids = [int(token) for token in top.indices]
    return LensLayer(
        ids=tuple(ids),
        pieces=tuple(map(label, ids)),
        probabilities=tuple(top.values.exp().tolist()),
        next_probability=None if next_id is None else float(logprobs[next_id].exp()),
        next_rank=None if next_id is None else int((logprobs > logprobs[next_id]).sum()) + 1,
    )


@torch.inference_mode()
def compare(request: ProbeRequest, model: ProbedModel, label: Label) -> ProbeCompared:
    start = time.perf_counter_ns()
    token, table = request.ids[-1], model.embedding.float()
    lengths = table.norm(dim=1).clamp_min_(1e-12)
    cosines = (table @ table[token]) / (lengths * lengths[token])
    cosines[token] = -torch.inf
    top = cosines.topk(min(NUM_NEIGHBOURS, len(table) - 1))
    pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
    return ProbeCompared(
        at=_now(request),
        position=len(request.ids) - 1,
        id=token,
        vocab_size=len(table),
        neighbours=tuple(Neighbour(id=id_, piece=label(id_), cosine=cosine) for id_, cosine in pairs),
        duration_us=_since(start),
    )


def measure(request: ProbeRequest, config: ModelConfig) -> ProbeMeasured:
    num_blocks = -(-len(request.ids) // BLOCK_SIZE)
    num_bytes = num_blocks * block_bytes(config)
    return ProbeMeasured(
        at=_now(request),
        position=len(request.ids) - 1,
        num_layers=config.num_layers,
        num_heads=config.num_heads,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        bytes_per_value=BYTES_PER_VALUE,
        block_size=BLOCK_SIZE,
        num_blocks=num_blocks,
        num_bytes=num_bytes,
        num_bytes_ungrouped=num_bytes * config.num_groups,
    )


def _now(request: ProbeRequest) -> int:
    return RequestClock(request.accepted_unix_us).at()


def _since(start_ns: int) -> int:
    return (time.perf_counter_ns() - start_ns) // 1000
