"""A prompt with pictures goes to the server as a chat, and its counts of tokens are the server's own or unknown."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from hashlib import sha256

import msgspec
import pytest

from inference.backends.backend import Job
from inference.backends.parameters import Kind, problem
from inference.backends.server import Server
from inference.protocol.request import ChatMessage, ChatPart
from inference.tokenization.tokenizer import Tokenizer
from tests.inference.backends.conftest import Script, Start, job, outputs_of, refusal_of, tokens_of

DATA = b"the bytes of a picture"
DIGEST = sha256(DATA).hexdigest()
CHAT = (
    ChatMessage(role="system", parts=(ChatPart(text="Be brief."),)),
    ChatMessage(role="user", parts=(ChatPart(image=DIGEST, media_type="image/png"), ChatPart(text="What is it?"))),
)
DONE = b"data: [DONE]\n\n"


def event(document: object) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def chunk(token: int, finish_reason: str | None = None) -> bytes:
    entry = {"token": f"token_id:{token}", "logprob": -0.5}
    logprobs = {"content": [entry | {"top_logprobs": [entry]}]}
    delta = {"content": "x"}
    return event({"choices": [{"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish_reason}]})


def usage(**counts: object) -> bytes:
    return event({"choices": [], "usage": counts})


def pictured(tokenizer: Tokenizer, chat: tuple[ChatMessage, ...] = CHAT, **params: object) -> Job:
    plain = job(tokenizer, max_tokens=2, **params)
    return replace(plain, request=msgspec.structs.replace(plain.request, chat=chat), pictures={DIGEST: DATA})


def server_at(url: str, kind: Kind = Kind.VLLM, window: int | None = None) -> Server:
    return Server(url=url, key=None, kind=kind, model="m", name="a server", window=window)


def streaming(script: Script, *events: bytes) -> None:
    script.stream(*events)
    script.answers["/v1/chat/completions"] = script.answers.pop("/v1/completions")


def test_the_server_gets_messages_with_the_picture_as_a_data_uri(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer
) -> None:
    streaming(script, chunk(5), chunk(6, "length"), usage(prompt_tokens=900), DONE)
    running = pictured(tokenizer)
    start(server_at(stub)).submit(running)
    assert [token.id for token in tokens_of(outputs_of(running))] == [5, 6]
    address = f"data:image/png;base64,{base64.b64encode(DATA).decode()}"
    assert script.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": address}},
                {"type": "text", "text": "What is it?"},
            ],
        },
    ]
    assert "prompt" not in script.body
    assert (script.body["logprobs"], script.body["top_logprobs"], script.body["max_tokens"]) == (True, 5, 2)


def test_the_servers_count_is_billed_and_its_share_for_pictures_told(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer
) -> None:
    details = {"cached_tokens": 16, "image_tokens": 880}
    streaming(script, chunk(5, "stop"), usage(prompt_tokens=900, prompt_tokens_details=details), DONE)
    running = pictured(tokenizer)
    start(server_at(stub)).submit(running)
    end = outputs_of(running)[-1]
    assert (end.num_server_prompt_tokens, end.num_image_tokens) == (900, 880)
    assert (end.usage.uncached_input, end.usage.cache_read, end.usage.output) == (884, 16, 1)


def test_a_share_that_the_server_does_not_tell_is_unknown(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer
) -> None:
    streaming(script, chunk(5, "stop"), DONE)
    running = pictured(tokenizer)
    start(server_at(stub)).submit(running)
    end = outputs_of(running)[-1]
    assert end.num_server_prompt_tokens is None and end.num_image_tokens is None
    assert end.usage.uncached_input == len(running.request.prompt_ids)


def test_the_server_fills_its_window_itself_as_it_alone_knows_what_is_left(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer
) -> None:
    streaming(script, chunk(5, "stop"), DONE)
    plain = pictured(tokenizer)
    params = msgspec.structs.replace(plain.request.params, max_tokens=512)
    running = replace(plain, request=msgspec.structs.replace(plain.request, params=params))
    start(server_at(stub, Kind.LLAMA_CPP, window=512)).submit(running)
    outputs_of(running)
    assert "max_tokens" not in script.body
    assert (script.body["repeat_last_n"], script.body["cache_prompt"]) == (-1, False)


def test_an_answer_about_a_picture_is_not_continued(stub: str, start: Start, tokenizer: Tokenizer) -> None:
    begun = (*CHAT, ChatMessage(role="assistant", parts=(ChatPart(text="It is"),)))
    running = pictured(tokenizer, begun)
    start(server_at(stub)).submit(running)
    end = refusal_of(running)
    assert end.code == "unsupported" and "cannot go on after its beginning" in end.message


def test_a_server_without_vision_says_so(stub: str, script: Script, start: Start, tokenizer: Tokenizer) -> None:
    script.json("/v1/chat/completions", {"error": {"message": "m is not a multimodal model"}}, 400)
    running = pictured(tokenizer)
    start(server_at(stub)).submit(running)
    end = refusal_of(running)
    assert end.code == "server_refused" and "not a multimodal model" in end.message


@pytest.mark.parametrize("kind", [Kind.VLLM, Kind.LLAMA_CPP, Kind.OTHER])
def test_no_thinking_is_asked_for_in_the_servers_own_words(
    stub: str, script: Script, start: Start, tokenizer: Tokenizer, kind: Kind
) -> None:
    streaming(script, chunk(5, "stop"), DONE)
    running = pictured(tokenizer, thinking_tokens=0)
    start(server_at(stub, kind)).submit(running)
    outputs_of(running)
    switch = None if kind is Kind.OTHER else {"enable_thinking": False}
    assert script.body.get("chat_template_kwargs") == switch


def test_thinking_is_left_to_the_server_else(stub: str, script: Script, start: Start, tokenizer: Tokenizer) -> None:
    streaming(script, chunk(5, "stop"), DONE)
    running = pictured(tokenizer)
    start(server_at(stub)).submit(running)
    outputs_of(running)
    assert "chat_template_kwargs" not in script.body


def test_a_prompt_of_ids_was_rendered_without_thinking(tokenizer: Tokenizer) -> None:
    for kind in Kind:
        assert problem(kind, job(tokenizer, thinking_tokens=0).request) is None
        assert "thinking_tokens" in (problem(kind, job(tokenizer, thinking_tokens=5).request) or "")
