"""Whatever a server does, the request ends, with a reason that helps, and nothing is left behind."""

from __future__ import annotations

import json

import pytest

from inference.backends.parameters import Kind
from inference.backends.remote_backend import RemoteBackend
from inference.backends.server import Server, ServerUnavailable, connect
from inference.tokenization.tokenizer import Tokenizer
from tests.inference.backends.conftest import Flags, Script, Start, job, outputs_of, refusal_of, tokens_of
from tests.ports import free_port

KEY = "sk-secret-of-the-operator"


def server_at(url: str, kind: Kind = Kind.VLLM) -> Server:
    return Server(url=url, key=KEY, kind=kind, model="m", name="a server")


def event(document: object) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def vllm_chunk(tokens: dict[int, float], finish_reason: str | None = None) -> bytes:
    """The first token is the chosen one; the others are candidates too."""
    first = f"token_id:{next(iter(tokens))}"
    top = {f"token_id:{token}": logprob for token, logprob in tokens.items()}
    logprobs = {"tokens": [first], "token_logprobs": [top[first]], "top_logprobs": [top], "text_offset": [0]}
    return event({"choices": [{"index": 0, "text": "x", "logprobs": logprobs, "finish_reason": finish_reason}]})


DONE = b"data: [DONE]\n\n"


@pytest.mark.parametrize(
    ("status", "said", "code", "expected"),
    [
        (401, f"wrong key {KEY}", "server_refused", "does not accept our key"),
        (404, "no such model", "server_refused", "does not serve this model"),
        (429, "slow down", "overloaded", "Try again later"),
        (400, "maximum context length is 512 tokens", "prompt_too_long", "too long"),
        (400, "bad seed", "server_refused", "bad seed"),
        (500, "oops " * 1000, "server_failed", "oops"),
        (302, "", "server_refused", "302"),
    ],
)
def test_each_refusal_is_told_without_the_key(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer, status: int, said: str, code: str, expected: str
) -> None:
    script.json("/v1/completions", {"error": {"message": said}}, status)
    refused = job(tokenizer)
    start(server_at(stub)).submit(refused)
    end = refusal_of(refused)
    assert end.code == code
    assert expected in end.message
    assert KEY not in end.message
    assert len(end.message) < 500
    assert script.headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in json.dumps(script.body)


@pytest.mark.parametrize(
    "wrong",
    [
        b"data: {nope\n\n",
        b'data: {"choices": 7}\n\n',
        event({"error": {"message": f"out of memory, {KEY}"}}),
        vllm_chunk({999_999_999: -1.0}),
        event({"choices": [{"text": "x", "logprobs": None, "finish_reason": None}]}),
        event({"choices": [{"text": "x", "logprobs": {"tokens": ["x"], "token_logprobs": [], "top_logprobs": []}}]}),
        vllm_chunk({5: 3.0}),
        vllm_chunk({5: -1.0}, "because"),
        b"x" * (2 << 20),
        b"",
    ],
)
@pytest.mark.parametrize("ends", ["well", "break"])
def test_an_answer_that_goes_wrong_fails_the_request(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer, wrong: bytes, ends: str
) -> None:
    script.stream(vllm_chunk({5: -1.0}), *([wrong] if wrong else []), ends=ends)
    failed = job(tokenizer)
    start(server_at(stub)).submit(failed)
    end = refusal_of(failed)
    assert end.code == "server_failed"
    assert KEY not in end.message
    assert end.usage.output >= 1


@pytest.mark.parametrize(
    "wrong",
    [
        b'data: {"choices":[{"text":"the secret",}]}\n\n',
        event({"choices": [{"text": "the secret", "logprobs": {"content": [{"token": "the secret"}]}}]}),
        event({"choices": [{"text": "the secret"}]}),
        event({"choices": [{"text": "the secret", "logprobs": {"content": [{"token": "x", "id": 5, "logprob": 9}]}}]}),
    ],
)
def test_the_message_about_a_broken_answer_has_none_of_its_text(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer, wrong: bytes
) -> None:
    script.stream(wrong)
    running = job(tokenizer)
    start(server_at(stub)).submit(running)
    end = refusal_of(running)
    assert end.code == "server_failed"
    assert "secret" not in end.message


def test_silence_is_given_up_and_the_connection_closed(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer
) -> None:
    script.stream(vllm_chunk({5: -1.0}), ends="wait")
    failed = job(tokenizer)
    start(server_at(stub), next_s=0.2).submit(failed)
    assert "silent for 0.2 s" in refusal_of(failed).message
    assert script.is_closed.wait(5)


def test_silence_before_the_first_token_has_its_own_patience(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer
) -> None:
    script.stream(ends="wait")
    failed = job(tokenizer)
    start(server_at(stub), first_s=0.2).submit(failed)
    assert "silent for 0.2 s" in refusal_of(failed).message


def test_the_back_end_tells_its_requests_and_no_more_than_it_knows(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer, flags: Flags
) -> None:
    script.stream(vllm_chunk({5: -1.0}), ends="wait")
    running, backend = job(tokenizer), start(server_at(stub))
    backend.submit(running)
    running.outputs.get(timeout=120)
    work = backend.work()
    assert (work.num_running, work.num_decode_tokens) == (1, 1)
    assert [(each.request_id, each.state, each.num_computed_tokens) for each in work.requests] == [
        ("a", "decode", None)
    ]
    assert (work.num_waiting, work.num_prefill_tokens, work.steps, work.blocks, work.cache) == (None,) * 5
    flags.ids.add("a")
    outputs_of(running)
    backend.stop("over")
    backend.join(5)
    assert (backend.work().num_running, backend.work().num_decode_tokens) == (0, 1)


def test_cancel_closes_the_connection(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer, flags: Flags
) -> None:
    script.stream(vllm_chunk({5: -1.0}), ends="wait")
    running = job(tokenizer)
    start(server_at(stub)).submit(running)
    running.outputs.get(timeout=120)
    flags.ids.add("a")
    assert outputs_of(running)[-1].finish_reason == "abort"
    assert script.is_closed.wait(5)


def test_a_server_that_does_not_stop_is_stopped(stub: str, script: Script, start: Start, tokenizer: Tokenizer) -> None:
    end_of_turn = min(tokenizer.eos_ids)
    script.stream(vllm_chunk({end_of_turn: -1.0}), *[vllm_chunk({5: -1.0})] * 3, ends="wait")
    running = job(tokenizer)
    start(server_at(stub)).submit(running)
    outputs = outputs_of(running)
    assert [token.id for token in tokens_of(outputs)] == [end_of_turn]
    assert outputs[-1].finish_reason == "stop"
    assert script.is_closed.wait(5)


def test_vllms_chunks_become_tokens_with_what_it_tells(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer
) -> None:
    usage = {"prompt_tokens": 4, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}
    candidates = {40: -7.0, 30: -0.5, 31: -1.5, 33: -2.0, 32: -2.0, 34: -3.0, 35: -9999.0}
    last = event({"choices": [], "usage": usage, "system_fingerprint": "vllm-1"})
    script.stream(vllm_chunk(candidates), vllm_chunk({30: -0.5, 31: -1.5}, "stop"), last, DONE)
    running = job(tokenizer, temperature=1.0, seed=3, top_k=7)
    start(server_at(stub)).submit(running)
    outputs = outputs_of(running)
    first, second = tokens_of(outputs)
    assert first.candidate_ids == (30, 31, 32, 33, 34, 40)
    assert (first.id, first.rank, second.rank) == (40, None, 1)
    assert first.candidate_pieces[0] == tokenizer.piece(30)
    end = outputs[-1]
    assert (end.usage.cache_read, end.usage.uncached_input, end.is_cache_known) == (3, 1, True)
    assert (end.prefill_us, end.decode_us) == (None, None)
    sent = {name: script.body[name] for name in ("prompt", "top_k", "seed", "cache_salt", "stop_token_ids", "logprobs")}
    assert sent == {
        "prompt": list(running.request.prompt_ids),
        "top_k": 7,
        "seed": 3,
        "cache_salt": "user:1",
        "stop_token_ids": sorted(tokenizer.eos_ids),
        "logprobs": 5,
    }


def test_a_cache_that_is_not_reported_is_not_known(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer
) -> None:
    script.stream(vllm_chunk({30: -0.5}, "stop"), DONE)
    running = job(tokenizer)
    start(server_at(stub)).submit(running)
    end = outputs_of(running)[-1]
    assert (end.is_cache_known, end.usage.uncached_input) == (False, len(running.request.prompt_ids))


def test_other_servers_tokens_are_found_by_their_text(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer
) -> None:
    (the,) = tokenizer.encode(" the")
    logprobs = {"tokens": [" the"], "token_logprobs": [-0.1], "top_logprobs": [{" the": -0.1, "no such token": -3.0}]}
    script.stream(event({"choices": [{"text": " the", "logprobs": logprobs, "finish_reason": "stop"}]}), DONE)
    running = job(tokenizer)
    start(server_at(stub, Kind.OTHER)).submit(running)
    (token,) = tokens_of(outputs_of(running))
    assert (token.id, token.candidate_ids) == (the, (the,))


MODELS = {"data": [{"id": "one", "owned_by": "vllm", "max_model_len": 100}]}


def test_several_models_are_chosen_from_by_name(stub: str, script: Script, tokenizer: Tokenizer) -> None:
    script.json("/v1/models", {"data": [{"id": "one"}, {"id": "two"}]})
    script.json("/v1/completions", {"choices": []})
    assert connect(f"{stub}/v1/", KEY, "two", tokenizer).model == "two"
    with pytest.raises(ServerUnavailable, match="but one, two"):
        connect(stub, KEY, "three", tokenizer)


def test_a_server_that_adds_to_the_prompt_is_not_used(stub: str, script: Script, tokenizer: Tokenizer) -> None:
    script.json("/v1/models", MODELS)
    script.json("/v1/completions", {"choices": [], "usage": {"prompt_tokens": 1}})
    with pytest.raises(ServerUnavailable, match="adds tokens"):
        connect(stub, KEY, "one", tokenizer)


@pytest.mark.parametrize("document", [{}, [], {"data": {}}, {"data": [1]}, "x"])
def test_what_is_no_model_server_is_said(stub: str, script: Script, tokenizer: Tokenizer, document: object) -> None:
    script.json("/v1/models", document)
    with pytest.raises(ServerUnavailable, match=r"OpenAI-compatible|does not serve"):
        connect(stub, KEY, "one", tokenizer)


def test_a_server_that_is_not_there_is_said(tokenizer: Tokenizer) -> None:
    with pytest.raises(ServerUnavailable, match="cannot be reached"):
        connect(f"http://127.0.0.1:{free_port()}", KEY, "one", tokenizer)


def test_a_request_that_comes_before_the_thread_runs_is_answered(
    stub: str, script: Script, flags: Flags, tokenizer: Tokenizer
) -> None:
    script.stream(vllm_chunk({5: -1.0}, "length"), DONE)
    backend = RemoteBackend(server_at(stub), tokenizer, flags)
    early = job(tokenizer)
    backend.submit(early)
    backend.start()
    assert [token.id for token in tokens_of(outputs_of(early))] == [5]
    backend.stop("over")
    backend.join(5)
    assert not backend.is_alive()
