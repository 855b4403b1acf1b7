"""The exhibits' experiments on the model: a request in, its outcome out. Knows nothing of clients.

A rotary embedding (arXiv 2104.09864) turns queries and keys by their positions. A causal mask alone also carries some
information about the order (arXiv 2203.16634).
"""

from __future__ import annotations

import time

import torch
from torch import Tensor

from inference.probes.model import ProbedModel, Step
from inference.probes.probes import Label, to_bytes
from inference.protocol.experiments import (
    Candidate,
    Loop,
    LoopRequest,
    LoopStep,
    Near,
    Nearness,
    NearnessRequest,
    Order,
    OrderLayer,
    OrderRequest,
    Reading,
    ReadingRequest,
)

NUM_NEXT = 8
NUM_NEAREST = 12

ReadRequest = ReadingRequest | NearnessRequest | OrderRequest | LoopRequest
ReadOutcome = Reading | Nearness | Order | Loop


def request_ids(request: ReadRequest) -> tuple[int, ...]:
    """Return all tokens that the request names."""
    match request:
        case ReadingRequest():
            return request.ids + request.asked
        case OrderRequest():
            return request.first + request.second
        case NearnessRequest() | LoopRequest():
            return request.ids


def run(request: ReadRequest, model: ProbedModel, label: Label) -> ReadOutcome:
    """Run one experiment; its ids must be the model's own."""
    match request:
        case ReadingRequest():
            return read(request, model, label)
        case NearnessRequest():
            return compare(request, model, label)
        case OrderRequest():
            return tell_apart(request, model)
        case LoopRequest():
            return loop(request, model, label)


def read(request: ReadingRequest, model: ProbedModel, label: Label) -> Reading:
    start = time.perf_counter_ns()
    seen = model.observe(request.ids)
    probabilities = model.read_out(seen.residuals[-1:])[0].exp()  # [vocab_size]
    top = probabilities.topk(min(NUM_NEXT, len(probabilities)))
    pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
    return Reading(
        num_layers=seen.attention.shape[0],
        num_heads=seen.attention.shape[1],
        weights=to_bytes(seen.attention),
        next=tuple(Candidate(id=token, piece=label(token), probability=share) for token, share in pairs),
        asked=tuple(float(probabilities[token]) for token in request.asked),
        duration_us=(time.perf_counter_ns() - start) // 1000,
    )


@torch.inference_mode()
def compare(request: NearnessRequest, model: ProbedModel, label: Label) -> Nearness:
    table, token = model.embedding.float(), request.ids[0]
    cosines = torch.cosine_similarity(table, table[token][None])  # [vocab_size]
    asked = cosines[list(request.ids)].tolist()
    cosines[token] = -torch.inf
    top = cosines.topk(min(NUM_NEAREST, len(table) - 1))
    pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
    return Nearness(
        vocab_size=len(table),
        hidden_size=table.shape[1],
        nearest=tuple(Near(id=each, piece=label(each), cosine=cosine) for each, cosine in pairs),
        asked=tuple(asked),
    )


def tell_apart(request: OrderRequest, model: ProbedModel) -> Order:
    pairs = [
        (model.last_residuals(request.first, is_turned), model.last_residuals(request.second, is_turned))
        for is_turned in (True, False)
    ]
    turned, unturned = (_distance(*pair) for pair in pairs)
    rows = zip(turned.tolist(), unturned.tolist(), strict=True)
    return Order(layers=tuple(OrderLayer(turned=with_, unturned=without) for with_, without in rows))


def _distance(first: Tensor, second: Tensor) -> Tensor:
    """Return each layer's distance over the first vector's length: [num_layers, hidden_size] twice → [num_layers]."""
    lengths = torch.linalg.vector_norm(first, dim=1).clamp_min(1e-12)
    distance: Tensor = torch.linalg.vector_norm(first - second, dim=1) / lengths
    return distance


def loop(request: LoopRequest, model: ProbedModel, label: Label) -> Loop:
    uncached = _loop(request, model, has_cache=False)
    cached = _loop(request, model, has_cache=True)
    return Loop(
        steps=tuple(
            LoopStep(
                id=one.id,
                piece=label(one.id),
                num_cached_tokens=one.num_tokens,
                num_uncached_tokens=other.num_tokens,
                cached_us=one.cpu_us,
                uncached_us=other.cpu_us,
                is_same=one.id == other.id,
            )
            for one, other in zip(cached, uncached, strict=True)
        ),
        compute="float32",
    )


def _loop(request: LoopRequest, model: ProbedModel, has_cache: bool) -> list[Step]:
    ids, steps, num_known = list(request.ids), [], 0
    for _ in range(request.num_tokens):
        step = model.step(ids, num_known)
        steps.append(step)
        num_known = len(ids) if has_cache else 0
        ids.append(step.id)
        # As in a probe: use at most half of a core.
        time.sleep(step.cpu_us / 1e6)
    return steps
