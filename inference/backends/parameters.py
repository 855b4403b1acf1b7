"""A request's sampling parameters in the words of each kind of server. Knows nothing of connections.

A request that a server cannot fulfil exactly is refused before anything is sent: an answer that was sampled otherwise
than its trace says would be a false trace. The output guard finds stop texts for every back end; they are never sent.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from inference.protocol.request import ChatMessage, ChatPart, GenerationRequest, SamplingParams


class Kind(Enum):
    """Servers whose extensions of OpenAI's completions API are known; its value is the server's name."""

    LLAMA_CPP = "llama.cpp"
    VLLM = "vLLM"
    OTHER = "OpenAI-compatible server"


_ALWAYS = {"temperature", "top_p", "seed", "max_tokens", "stop", "stop_token_ids", "logit_bias", "stop_on_repetition"}
_SUPPORTED = {
    # Its frequency and presence penalties and its DRY count the prompt's tokens too; ours count the answer's alone.
    Kind.LLAMA_CPP: _ALWAYS | {"top_k", "min_p", "typical_p", "repetition_penalty", "banned_token_ids"},
    Kind.VLLM: _ALWAYS | {"top_k", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty"},
    Kind.OTHER: _ALWAYS | {"frequency_penalty", "presence_penalty"},
}
_GREEDY_BELOW = 1e-3
"""As in our own sampler: anything colder is greedy."""
_SAMPLERS = ["penalties", "temperature", "top_k", "top_p", "min_p", "typ_p"]
"""llama.cpp's names of our logits processors, in our order; its own applies the temperature last."""
_LLAMA_SEEDS = 2**32 - 1
"""Its seeds have 32 bits, and the greatest stands for a random one."""


def is_greedy(params: SamplingParams) -> bool:
    """True when the temperature is low enough that no draw is made."""
    return params.temperature < _GREEDY_BELOW


_COUNTS_ANSWER = ("frequency_penalty", "presence_penalty")
"""A fork's kept tokens, which go to the server in the prompt, would not count for these."""


def problem(kind: Kind, request: GenerationRequest) -> str | None:
    """Return a sentence that names what this kind of server cannot do, and the remedy; None if it can do all."""
    if request.is_stepped:
        return f"This model is served by {_a(kind)}, which cannot wait for a choice. Leave step mode off."
    params, default = request.params, SamplingParams()
    if params.max_tokens == 0:
        return f"This model is served by {_a(kind)}, which reads no prompt without an answer. Ask for 1 token or more."
    changed = [name for name in params.__struct_fields__ if getattr(params, name) != getattr(default, name)]
    if params.thinking_tokens == 0:  # the prompt has no thinking, and that is all it means here
        changed.remove("thinking_tokens")
    if not params.dry_multiplier:
        changed = [name for name in changed if not name.startswith("dry_")]
    if wrong := [name for name in changed if name not in _SUPPORTED[kind]]:
        names = " and ".join(wrong)
        return f"This model is served by {_a(kind)}, which cannot apply {names} as Sightglass defines it. Leave it off."
    if request.chat and (request.kept_ids or request.chat[-1].role == "assistant"):
        return "An answer about a picture cannot go on after its beginning: the server makes its prompt. Ask again."
    if request.kept_ids and any(getattr(params, name) for name in _COUNTS_ANSWER):
        return f"This model is served by {_a(kind)}, whose penalties would not count the tokens kept. Set them to 0."
    if kind is Kind.VLLM and params.min_p > 0 and params.top_p < 1:
        return "This model is served by vLLM, which applies min_p before top_p. Set min_p to 0 or top_p to 1."
    return None


def _a(kind: Kind) -> str:
    return "an OpenAI-compatible server of unknown kind" if kind is Kind.OTHER else kind.value


def completion_body(
    kind: Kind, model: str, request: GenerationRequest, stop_ids: Iterable[int], max_tokens: int
) -> dict[str, Any]:
    """The JSON of a POST to /v1/completions that streams tokens with their candidates. Token ids go as they are."""
    params, prompt = request.params, [*request.prompt_ids, *request.kept_ids]
    body = {
        "model": model,
        "prompt": prompt,
        "max_tokens": max_tokens,
        "temperature": 0 if is_greedy(params) else params.temperature,
        "top_p": params.top_p,
        "seed": params.seed,
        "logprobs": request.num_candidates,
        "stream": True,
        "stream_options": {"include_usage": True},
        **_EXTENSIONS[kind](params, sorted(stop_ids)),
    }
    if kind is Kind.LLAMA_CPP:
        body["repeat_last_n"] = len(prompt) + max_tokens  # the whole context; the server makes room for as many
    if kind is Kind.VLLM and request.principal:
        body["cache_salt"] = request.principal
    return body


def chat_body(
    kind: Kind,
    model: str,
    request: GenerationRequest,
    stop_ids: Iterable[int],
    max_tokens: int | None,
    pictures: Mapping[str, bytes],
) -> dict[str, Any]:
    """The JSON of a POST to /v1/chat/completions for a prompt with pictures, each as a data URI.

    max_tokens: None: as many as the server's window holds, since it alone knows the pictures' tokens.
    """
    body = completion_body(kind, model, request, stop_ids, max_tokens or 0)
    del body["prompt"]
    body["logprobs"], body["top_logprobs"] = True, request.num_candidates
    body["messages"] = [_message(each, pictures) for each in request.chat]
    if max_tokens is None:
        del body["max_tokens"]
    if request.params.thinking_tokens == 0 and kind is not Kind.OTHER:  # the server renders the template itself
        body["chat_template_kwargs"] = {"enable_thinking": False}
    if kind is Kind.LLAMA_CPP:
        body["repeat_last_n"] = -1  # the whole context
        body["return_progress"] = False  # it counts tokens of the pictures, which the prompt's own have no place for
        body["reasoning_format"] = "none"  # thinking is split off here
    return body


def _message(message: ChatMessage, pictures: Mapping[str, bytes]) -> dict[str, Any]:
    if not any(part.image for part in message.parts):
        return {"role": message.role, "content": "".join(part.text for part in message.parts)}
    return {"role": message.role, "content": [_part(part, pictures) for part in message.parts]}


def _part(part: ChatPart, pictures: Mapping[str, bytes]) -> dict[str, Any]:
    if not part.image:
        return {"type": "text", "text": part.text}
    data = base64.b64encode(pictures[part.image]).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{data}"}}


def _llama_cpp(params: SamplingParams, stop_ids: list[int]) -> dict[str, Any]:
    bias: list[list[float | bool]] = [[entry.id, entry.bias] for entry in params.logit_bias]
    return {
        "seed": None if params.seed is None else params.seed % _LLAMA_SEEDS,
        "top_k": params.top_k,
        "min_p": params.min_p,
        "typical_p": params.typical_p,
        "repeat_penalty": params.repetition_penalty,
        "samplers": _SAMPLERS,
        "logit_bias": [*bias, *([token, False] for token in params.banned_token_ids)],
        "return_progress": True,
        "timings_per_token": True,
        # Its cache does not separate principals: a prompt's timing would reveal other users' prompts.
        "cache_prompt": False,
    }


def _vllm(params: SamplingParams, stop_ids: list[int]) -> dict[str, Any]:
    return {
        **_other(params, stop_ids),
        "top_k": params.top_k,
        "min_p": params.min_p,
        "repetition_penalty": params.repetition_penalty,
        "stop_token_ids": stop_ids,
        "return_tokens_as_token_ids": True,
    }


def _other(params: SamplingParams, stop_ids: list[int]) -> dict[str, Any]:
    bias = {str(entry.id): entry.bias for entry in params.logit_bias}
    penalties = {"frequency_penalty": params.frequency_penalty, "presence_penalty": params.presence_penalty}
    return penalties | ({"logit_bias": bias} if bias else {})


_EXTENSIONS = {Kind.LLAMA_CPP: _llama_cpp, Kind.VLLM: _vllm, Kind.OTHER: _other}
