"""Requests at a real llama.cpp server: our own engine's contract, and nothing shown that the server does not tell."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from inference.backends.backend import AlreadyRunning
from inference.backends.parameters import Kind
from inference.backends.server import Server, ServerUnavailable, connect
from inference.protocol.events import PrefillAdvanced
from inference.protocol.request import LogitBias
from inference.tokenization.tokenizer import Tokenizer
from tests.inference.backends.conftest import Flags, Start, job, outputs_of, refusal_of, tokens_of
from tests.inference.backends.llama_server import KEY, WINDOW, LlamaServer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(llama: LlamaServer, tokenizer: Tokenizer) -> Server:
    return connect(llama.url, KEY, "smollm2", tokenizer)


def test_it_says_who_it_is(server: Server, llama: LlamaServer) -> None:
    assert (server.kind, server.window, server.quantization) == (Kind.LLAMA_CPP, WINDOW, "Q4_1")
    assert server.name.startswith("llama.cpp b")
    assert server.url == llama.url
    assert KEY not in repr(server)


def test_greedy_tokens_are_the_servers_own(
    server: Server, llama: LlamaServer, start: Start, tokenizer: Tokenizer
) -> None:
    own = llama.complete(tokenizer.encode("Once upon a time"), 16)
    running = job(tokenizer, max_tokens=16)
    start(server).submit(running)
    tokens = tokens_of(outputs_of(running))
    assert [token.id for token in tokens] == own["tokens"]
    assert tokenizer.decode([token.id for token in tokens]) == own["content"]
    assert all(token.is_shown for token in tokens)


def test_tokens_that_end_within_a_character_are_there_though_the_server_does_not_show_them(
    server: Server, llama: LlamaServer, start: Start, tokenizer: Tokenizer
) -> None:
    prompt = "The emoji for a cat is"
    own = llama.complete(tokenizer.encode(prompt), 7)
    running = job(tokenizer, prompt=prompt, max_tokens=7)
    start(server).submit(running)
    tokens = tokens_of(outputs_of(running))
    assert b"".join(token.piece for token in tokens).decode() == own["content"]
    assert [token.position for token in tokens] == list(range(len(own["tokens"])))  # type: ignore[arg-type]
    hidden = [token for token in tokens if not token.is_shown]
    assert hidden
    assert {(token.logprob, token.rank, token.candidate_ids) for token in hidden} == {(None, None, ())}


def test_what_it_tells_is_recorded_and_what_not_is_unknown(server: Server, start: Start, tokenizer: Tokenizer) -> None:
    running = job(tokenizer)
    start(server).submit(running)
    outputs = outputs_of(running)
    end, tokens = outputs[-1], tokens_of(outputs)
    prefill = [event for output in outputs for event in output.events if isinstance(event, PrefillAdvanced)]
    num_prompt = len(running.request.prompt_ids)
    assert [(each.start, each.end, each.num_sequences) for each in prefill] == [(0, num_prompt, None)]
    assert (end.finish_reason, end.usage.uncached_input, end.usage.output) == ("length", num_prompt, 12)
    assert end.is_cache_known and end.prefill_us and end.decode_us
    assert [token.position for token in tokens] == list(range(12))
    for token in tokens:
        assert len(token.candidate_ids) == 5 == len(set(token.candidate_ids))
        assert list(token.candidate_logits) == sorted(token.candidate_logits, reverse=True)
        assert (token.id, token.rank) == (token.candidate_ids[0], 1)
        assert token.candidate_logits[0] == pytest.approx(token.logprob, abs=1e-4)
        assert (token.low, token.high, token.u) == (0, 1, None)  # greedy: that there was no draw is known
        unknown = (token.entropy, token.log_normalizer, token.processors, token.step_us, token.batch_size)
        assert unknown == (None,) * 5


def test_a_drawn_token_has_no_invented_draw(server: Server, start: Start, tokenizer: Tokenizer) -> None:
    backend = start(server)
    drawn = [job(tokenizer, name, temperature=5.0, top_p=1.0, seed=2**40 + 3, max_tokens=20) for name in "ab"]
    for each in drawn:
        backend.submit(each)
    first, again = (tokens_of(outputs_of(each)) for each in drawn)
    assert [token.id for token in first] == [token.id for token in again]  # the seed is the server's too
    for token in first:
        assert (token.u, token.low, token.high) == (None, None, None)
        is_listed = token.id in token.candidate_ids[:5]
        assert (token.rank is None) != is_listed
        assert token.id in token.candidate_ids
    assert any(token.rank is None for token in first)


@pytest.mark.parametrize(
    "params",
    [
        {"top_k": 1, "temperature": 2.0},
        {"min_p": 1.0, "temperature": 2.0},
        {"top_p": 1e-6, "temperature": 2.0},
        {"typical_p": 1e-6, "temperature": 1e-4},
    ],
)
def test_cuts_that_leave_one_candidate_leave_the_first(
    server: Server, start: Start, tokenizer: Tokenizer, params: dict[str, float]
) -> None:
    running = job(tokenizer, seed=1, **params)
    start(server).submit(running)
    assert [token.rank for token in tokens_of(outputs_of(running))] == [1] * 12


def test_bans_biases_and_penalties_have_their_effect(server: Server, start: Start, tokenizer: Tokenizer) -> None:
    backend = start(server)

    def ids(name: str, **params: object) -> list[int]:
        running = job(tokenizer, name, prompt="one two one two one two one two", **params)
        backend.submit(running)
        return [token.id for token in tokens_of(outputs_of(running))]

    plain = ids("a")
    assert plain[0] not in ids("b", banned_token_ids=(plain[0],))
    assert set(ids("c", logit_bias=(LogitBias(id=17, bias=100.0),))) == {17}
    assert len(set(ids("d", repetition_penalty=5.0))) > len(set(plain))


def test_requests_at_the_same_time_all_end(server: Server, start: Start, tokenizer: Tokenizer) -> None:
    backend = start(server)
    running = [job(tokenizer, f"r{number}", prompt="word " * (number + 1)) for number in range(6)]
    for each in running:
        backend.submit(each)
    with pytest.raises(AlreadyRunning):
        backend.submit(job(tokenizer, "r0"))
    assert [len(tokens_of(outputs_of(each))) for each in running] == [12] * 6


def test_cancel_ends_the_request_here_and_there(
    server: Server, llama: LlamaServer, start: Start, tokenizer: Tokenizer, flags: Flags
) -> None:
    running = job(tokenizer, max_tokens=400)
    start(server).submit(running)
    while not any(running.outputs.get(timeout=120).events):
        pass
    flags.ids.add("a")
    end = outputs_of(running)[-1]
    assert end.finish_reason == "abort"
    assert end.usage.output < 400
    assert end.usage.uncached_input == len(running.request.prompt_ids)
    deadline = time.monotonic() + 10
    while llama.is_busy():
        assert time.monotonic() < deadline, "the server goes on although nobody listens"
        time.sleep(0.02)


def test_a_reason_found_outside_ends_the_request(server: Server, start: Start, tokenizer: Tokenizer) -> None:
    backend, running = start(server), job(tokenizer, max_tokens=400)
    backend.submit(running)
    running.outputs.get(timeout=120)
    backend.finish(running.request, "content_filter")
    backend.finish(running.request, "stop")
    assert outputs_of(running)[-1].finish_reason == "content_filter"


def test_stop_ends_what_runs_and_what_comes_late(server: Server, start: Start, tokenizer: Tokenizer) -> None:
    backend, running, late = start(server), job(tokenizer, "a", max_tokens=400), job(tokenizer, "b")
    backend.submit(running)
    running.outputs.get(timeout=120)
    backend.stop("bye")
    backend.submit(late)
    assert [refusal_of(each).code for each in (running, late)] == ["worker_lost"] * 2
    backend.join(5)
    assert not backend.is_alive()


def test_what_does_not_fit_or_cannot_be_done_is_refused_before_it_is_sent(
    server: Server, start: Start, tokenizer: Tokenizer
) -> None:
    backend = start(server)
    long = job(tokenizer, "a", prompt="word " * 600)
    backend.submit(long)
    end = refusal_of(long)
    assert (end.code, end.usage.uncached_input) == ("prompt_too_long", 0)
    assert str(WINDOW) in end.message
    penalised = job(tokenizer, "b", presence_penalty=1.0)
    backend.submit(penalised)
    end = refusal_of(penalised)
    assert end.code == "unsupported"
    assert "presence_penalty" in end.message and "llama.cpp" in end.message
    # Its own DRY looks at the prompt, too.
    dry = job(tokenizer, "c", dry_multiplier=0.8)
    backend.submit(dry)
    assert "dry_multiplier" in refusal_of(dry).message


def test_an_answer_ends_where_the_servers_window_does(server: Server, start: Start, tokenizer: Tokenizer) -> None:
    running = job(tokenizer, prompt="word " * 490, max_tokens=100)
    num_prompt = len(running.request.prompt_ids)
    start(server).submit(running)
    end = outputs_of(running)[-1]
    assert (end.finish_reason, end.usage.output) == ("length", WINDOW - num_prompt)


def test_a_key_that_is_wrong_is_said_when_the_worker_starts(llama: LlamaServer, tokenizer: Tokenizer) -> None:
    with pytest.raises(ServerUnavailable, match="does not accept our key"):
        connect(llama.url, "sk-wrong", "smollm2", tokenizer)


def test_a_tokenizer_that_is_not_the_servers_is_found_out(llama: LlamaServer, tokenizer: Tokenizer) -> None:
    class Shifted:
        vocab_size = tokenizer.vocab_size
        piece = tokenizer.piece
        is_special = tokenizer.is_special

        def encode(self, text: str) -> list[int]:
            return [token + 1 for token in tokenizer.encode(text)]

    with pytest.raises(ServerUnavailable, match="another tokenizer"):
        connect(llama.url, KEY, "smollm2", Shifted())


def test_a_server_that_is_killed_in_the_middle_fails_the_request(
    model_path: Path, start: Start, tokenizer: Tokenizer
) -> None:
    mortal = LlamaServer(model_path)
    backend = start(connect(mortal.url, KEY, "smollm2", tokenizer))
    running, later = job(tokenizer, "a", max_tokens=400), job(tokenizer, "b")
    backend.submit(running)
    while not tokens_of([running.outputs.get(timeout=120)]):
        pass
    mortal.kill()
    end = refusal_of(running)
    assert (end.code, end.usage.output > 0) == ("server_failed", True)
    backend.submit(later)
    assert "cannot be reached" in refusal_of(later).message


def test_a_server_that_freezes_is_given_up(model_path: Path, start: Start, tokenizer: Tokenizer) -> None:
    frozen = LlamaServer(model_path)
    running = job(tokenizer, max_tokens=400)
    start(connect(frozen.url, KEY, "smollm2", tokenizer), next_s=0.5).submit(running)
    while not tokens_of([running.outputs.get(timeout=120)]):
        pass
    frozen.freeze()
    assert "silent for 0.5 s" in refusal_of(running).message
    frozen.kill()
