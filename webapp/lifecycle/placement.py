"""Places generations on workers by exact counts. Knows nothing of messages and logs.

Workers are asked for their cached tokens, and the leases count each worker's requests.
"""

from __future__ import annotations

from typing import Any

from inference.eventlog.keys import hinted_worker_key, recent_workers_key
from inference.protocol.failures import Failure
from inference.protocol.request import GenerationRequest
from webapp.lifecycle import cache_peek
from webapp.lifecycle.worker_choice import NUM_RECENT, Candidate, choose, worth_asking
from webapp.requests import services
from webapp.requests.workers import WorkerStatus, client, heartbeats

_RECENT_EXPIRY_S = 3600
"""Longest time for which a prefix cache keeps a block at a client's wish."""


def place(generation: GenerationRequest, tokenizer_version: str, hint: str = "") -> str:
    """Return the worker to send a generation to; empty: the queue that all workers of its model take from.

    hint: a client's own word for requests that begin alike. The worker of the last such request of the same principal
    is preferred. A single worker takes everything from that queue. Raises RedisError.
    """
    found = _candidates(generation.model, tokenizer_version)
    if len(found) < 2:
        return ""
    key = recent_workers_key(generation.principal, generation.model)
    recent: Any = client().lrange(key, 0, -1)
    hinted = _hinted(generation, hint)
    if hinted:
        recent = [hinted, *recent]
    asked = worth_asking(found, recent)
    ids = generation.prompt_ids + generation.kept_ids
    cached = cache_peek.ask([each.name for each in asked], ids, generation.model, generation.principal)
    known = [Candidate(*_figures(each), cached.get(each.name) or 0, each.name == hinted) for each in asked]
    chosen = choose(known) or choose(found)
    if chosen is None:
        return ""
    _remember(key, chosen.name)
    if hint:
        client().set(_hint_key(generation, hint), chosen.name, ex=_RECENT_EXPIRY_S)
    return chosen.name


def is_served(model: str, tokenizer_version: str) -> bool:
    """Return whether a worker takes such generations now, or once it has a free place. Raises RedisError."""
    return bool(_ready(model, tokenizer_version))


def unavailable(model: str, tokenizer_version: str) -> Failure | None:
    """Return why no worker that is there will take such a generation; None: one may, or none is there.

    Raises RedisError.
    """
    found = [each for each in heartbeats().values() if each.model == model]
    failed = [each for each in found if each.state == "failed"]
    if not failed or len(failed) < len(found):
        return None
    return Failure("generation", "model_unavailable", f"The model could not be loaded: {failed[0].message}")


def num_places(model: str) -> int | None:
    """Return the number of requests that the workers of a model take at once; None: no worker is ready.

    Raises RedisError.
    """
    found = [each.num_places for each in heartbeats().values() if each.state == "ready" and each.model == model]
    return sum(found) if found else None


def _ready(model: str, tokenizer_version: str) -> dict[str, WorkerStatus]:
    wanted = ("ready", model, tokenizer_version)
    found = heartbeats().items()
    return {name: each for name, each in found if (each.state, each.model, each.tokenizer) == wanted}


def _candidates(model: str, tokenizer_version: str) -> list[Candidate]:
    ready = _ready(model, tokenizer_version)
    loads = services.leases().loads(list(ready))
    return [Candidate(name, load, ready[name].num_places) for name, load in zip(ready, loads, strict=True)]


def _hint_key(generation: GenerationRequest, hint: str) -> str:
    return hinted_worker_key(generation.principal, generation.model, hint)


def _hinted(generation: GenerationRequest, hint: str) -> str:
    """Return the worker of the last request with the hint; empty: none is known."""
    found: Any = client().get(_hint_key(generation, hint)) if hint else None
    return found or ""


def _figures(candidate: Candidate) -> tuple[str, int, int]:
    return candidate.name, candidate.num_requests, candidate.num_places


def _remember(key: str, worker: str) -> None:
    pipeline = client().pipeline(transaction=False)
    pipeline.lrem(key, 0, worker)
    pipeline.lpush(key, worker)
    pipeline.ltrim(key, 0, NUM_RECENT - 1)
    pipeline.expire(key, _RECENT_EXPIRY_S)
    pipeline.execute()
