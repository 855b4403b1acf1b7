"""The probes' API: access rights, refusals and their reasons, and a probe by a real worker."""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from inference.eventlog.keys import probe_key
from inference.models.sources.gguf_file import GgufFile
from inference.protocol.codec import decode_probe, decode_probe_request
from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    Frame,
    GenerationFinished,
    GenerationStarted,
    ProbeAttended,
    ProbeLensed,
    PromptTokenized,
    RequestAccepted,
    RequestFinished,
    Segment,
    SegmentKind,
    TokenSampled,
)
from inference.protocol.request import SamplingParams, Usage
from inference.tokenization.tokenizer import Tokenizer
from tests.events import STARTED
from webapp.lifecycle.probes.job import QUEUE
from webapp.lifecycle.probes.models import Probe
from webapp.operations.supervisor.child import Child
from webapp.requests import services
from webapp.requests.models import Request
from webapp.traces import store

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parents[4]
NAME = "smollm2-135m-instruct"
Bounds = tuple[SegmentKind, str, int, int]
"""A segment's kind, source, first token and end."""
WAIT_S = 240
"""A probe has the lowest priority, and the machine may be busy."""


@pytest.fixture
def alice(redis_client: redis.Redis) -> Client:
    client = Client()
    client.force_login(User.objects.create_user("alice"))
    return client


@pytest.fixture
def events(tokenizer: Tokenizer, model_path: Path) -> list[AnyEvent]:
    """A question that the bundled model answered with one word."""
    config = GgufFile(model_path).config
    prompt, paris = tokenizer.encode("The capital of France is"), tokenizer.encode(" Paris")[0]
    return [
        RequestAccepted(
            at=0, request_id="req_a", surface="chat", model=NAME, params=SamplingParams(), accepted_unix_us=1
        ),
        PromptTokenized(
            at=1,
            tokenizer=tokenizer.name,
            version=tokenizer.version,
            ids=tuple(prompt),
            pieces=tuple(tokenizer.label(token) for token in prompt),
            duration_us=1,
        ),
        msgspec.structs.replace(
            STARTED, at=2, model=NAME, architecture=config.architecture, quantization=config.quantization
        ),
        TokenSampled(
            at=3,
            position=0,
            id=paris,
            piece=tokenizer.piece(paris),
            logprob=-0.5,
            rank=1,
            entropy=1.0,
            u=None,
            low=0.0,
            high=1.0,
            log_normalizer=1.0,
            candidate_ids=(paris,),
            candidate_logits=(1.0,),
            candidate_pieces=(b" Paris",),
            processors=(),
            step_us=1,
            batch_size=1,
        ),
        GenerationFinished(at=4, finish_reason="length", usage=Usage(), prefill_us=1, decode_us=1),
        RequestFinished(at=5, finish_reason="length", usage=Usage()),
    ]


@pytest.fixture
def saved(alice: Client, events: list[AnyEvent]) -> Request:
    return save(events)


def save(events: list[AnyEvent]) -> Request:
    """A settled request of alice's with these events."""
    alice = User.objects.get(username="alice")
    request = Request.objects.create(user=alice, surface="chat", model=NAME, title="q", finished_at=timezone.now())
    store.save(request, [Frame(seq=1, events=tuple(events))])
    return request


def ask(client: Client, request: Request, kind: str = "lens", position: int = 4) -> tuple[int, Any]:
    body = json.dumps({"kind": kind, "position": position})
    response = client.post(f"/api/requests/{request.pk}/probes", body, content_type="application/json")
    return response.status_code, response.json()


def queued(redis_client: redis.Redis) -> list[Any]:
    rows: Any = redis_client.lrange("probes", 0, -1)
    return [decode_probe_request(json.loads(base64.b64decode(json.loads(row)["body"]))[0][0]) for row in rows]


def test_a_look_is_queued_once_with_all_the_worker_needs(
    alice: Client, saved: Request, redis_client: redis.Redis, events: list[AnyEvent]
) -> None:
    assert [ask(alice, saved) for _ in range(3)] == [(202, {"state": "queued"})] * 3
    (task,) = queued(redis_client)
    prompt, token = events[1], events[3]
    assert isinstance(prompt, PromptTokenized) and isinstance(token, TokenSampled)
    assert (task.ids, task.next_id, task.kind) == (prompt.ids, token.id, "lens")
    assert (task.tokenizer_version, task.model) == (prompt.version, NAME)


def test_sources_are_the_prompts_segments_for_all_tokens_of_the_answer(
    alice: Client, events: list[AnyEvent], redis_client: redis.Redis
) -> None:
    bounds: list[Bounds] = [
        ("system", "system", 0, 2),
        ("attachment", "attachment:a", 2, 4),
        ("user", "message:1", 4, 5),
    ]
    assert ask(alice, save([*events[:1], context(bounds), *events[1:]]), "sources", 4)[0] == 202
    (task,) = queued(redis_client)
    assert (task.first, len(task.ids), task.starts) == (4, 5, (0, 1, 2, 4, 5))


def test_sources_begin_with_the_first_round_of_an_answer_that_called_a_tool(
    alice: Client, events: list[AnyEvent], redis_client: redis.Redis
) -> None:
    bounds: list[Bounds] = [
        ("user", "message:1", 0, 3),
        ("history", "generation:0", 3, 4),
        ("result", "tool:call_0_0", 4, 5),
    ]
    request = save([*events[:1], context(bounds), *events[1:]])
    assert ask(alice, request, "sources", 1)[1]["error"]["code"] == "unknown_position"
    assert ask(alice, request, "sources", 4)[0] == 202
    (task,) = queued(redis_client)
    assert (task.first, task.starts) == (2, (0, 1, 3, 4, 5))


def context(bounds: list[Bounds]) -> ContextAssembled:
    segments = tuple(
        Segment(kind=kind, role="", start=start, end=end, source=source, text="") for kind, source, start, end in bounds
    )
    return ContextAssembled(
        at=1, window=64, reserved_output=8, num_prompt_tokens=bounds[-1][3], segments=segments, duration_us=1
    )


def test_a_running_requests_tokens_so_far_can_be_looked_at(
    alice: Client, events: list[AnyEvent], redis_client: redis.Redis
) -> None:
    request = Request.objects.create(user=User.objects.get(), surface="chat", model=NAME, title="q")
    services.event_log().append(request.pk, events[:4], 1)
    assert ask(alice, request, "attention", 5)[0] == 202
    (task,) = queued(redis_client)
    assert (len(task.ids), task.next_id) == (6, None)


def test_somebody_elses_request_is_not_there(alice: Client, saved: Request) -> None:
    bob = Client()
    bob.force_login(User.objects.create_user("bob"))
    assert ask(bob, saved)[0] == 404
    assert ask(Client(), saved)[0] == 401


def test_what_was_seen_goes_with_its_trace(alice: Client, saved: Request) -> None:
    Probe.objects.create(trace=saved.trace, kind="lens", position=4, blob=b"")
    saved.trace.delete()
    assert not Probe.objects.exists()
    assert ask(alice, saved)[0] == 404


def replaced(events: list[AnyEvent], kind: type[AnyEvent], **change: object) -> list[AnyEvent]:
    return [msgspec.structs.replace(event, **change) if isinstance(event, kind) else event for event in events]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"kind": "lens", "position": 6}, "unknown_position"),
        ({"kind": "lens", "position": -1}, "invalid"),
        ({"kind": "lens", "position": 1 << 40}, "invalid"),
        ({"kind": "dream", "position": 0}, "invalid"),
        ({"kind": "lens"}, "invalid"),
    ],
)
def test_a_place_that_is_not_there_gets_a_clear_error(
    alice: Client, saved: Request, body: dict[str, object], code: str
) -> None:
    response = alice.post(f"/api/requests/{saved.pk}/probes", json.dumps(body), content_type="application/json")
    assert (response.status_code, response.json()["error"]["code"]) == (400, code)


def test_what_the_server_cannot_know_is_refused_with_the_reason(alice: Client, events: list[AnyEvent]) -> None:
    cases = [
        ([event for event in events if not isinstance(event, PromptTokenized)], "no_ids"),
        ([event for event in events if not isinstance(event, GenerationStarted)], "no_weights"),
        (replaced(events, GenerationStarted, server="vLLM 0.9"), "no_weights"),
        (replaced(events, GenerationStarted, quantization=None), "no_weights"),
    ]
    for found, code in cases:
        status, answer = ask(alice, save(found))
        assert (status, answer["error"]["code"]) == (409, code)


def test_too_long_a_context_is_refused_but_its_memory_is_counted(alice: Client, events: list[AnyEvent]) -> None:
    request = save(replaced(events, PromptTokenized, ids=(1,) * 3000, pieces=(b"a",) * 3000))
    assert ask(alice, request, "attention", 2999)[1]["error"]["code"] == "too_long"
    assert ask(alice, request, "memory", 2999)[0] == 202


def test_a_look_that_nobody_takes_is_given_up_with_a_reason_and_can_be_asked_again(
    alice: Client, saved: Request, redis_client: redis.Redis
) -> None:
    ask(alice, saved)
    redis_client.hset(probe_key(saved.pk, "lens", 4), "since", time.time() - 120)
    status, answer = ask(alice, saved)
    assert (status, answer["error"]["code"]) == (503, "no_worker")
    assert "probes" in answer["error"]["message"]
    assert ask(alice, saved)[0] == 202


def test_more_looks_than_anybody_waits_for_are_refused(
    alice: Client, saved: Request, redis_client: redis.Redis
) -> None:
    redis_client.rpush(QUEUE, *(f"of another user, {n}" for n in range(30)))
    assert [ask(alice, saved, "lens", position)[0] for position in range(3)] == [202, 202, 503]


@pytest.fixture
def worker(redis_client: redis.Redis, tmp_path: Path) -> Iterator[Child]:
    command = [sys.executable, "-m", "celery", "-A", "inference.worker.probe_app", "worker", "-n", "probes@%h"]
    options = ["-P", "threads", "-c", "1", "-Q", "probes", "--without-gossip", "--without-mingle"]
    child = Child("probes", [*command, *options], tmp_path / "probes.log", os.environ | {"PYTHONPATH": str(ROOT)})
    yield child
    child.send(9)
    assert child.wait(10)


def wait_for(client: Client, request: Request, kind: str, worker: Child) -> tuple[int, Any]:
    deadline = time.monotonic() + WAIT_S
    while (answer := ask(client, request, kind))[0] == 202:
        assert worker.exit_status is None, worker.last_line()
        assert time.monotonic() < deadline, worker.log_path.read_text()
        time.sleep(0.1)
    return answer


@pytest.mark.slow
def test_a_worker_looks_and_what_it_saw_is_kept(
    alice: Client, saved: Request, events: list[AnyEvent], worker: Child, redis_client: redis.Redis
) -> None:
    status, answer = wait_for(alice, saved, "lens", worker)
    assert status == 200, answer
    lensed = decode_probe(json.dumps(answer))
    assert isinstance(lensed, ProbeLensed)
    assert lensed.layers[-1].pieces[0] == b" Paris"
    assert lensed.layers[-1].next_rank == 1
    redis_client.delete("probes")
    assert ask(alice, saved) == (200, answer)
    attended = decode_probe(json.dumps(wait_for(alice, saved, "attention", worker)[1]))
    assert isinstance(attended, ProbeAttended)
    assert len(attended.weights) == attended.num_layers * attended.num_heads * 5
    other = save(replaced(events, PromptTokenized, version="another"))
    status, answer = wait_for(alice, other, "lens", worker)
    assert (status, answer["error"]["code"]) == (409, "other_model")
