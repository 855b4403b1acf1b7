"""A completion's body as a call. Raises ApiError, which names the wrong field by OpenAI's name."""

from __future__ import annotations

from typing import Any

from webapp.api.openai.chat import biases, renamed
from webapp.api.openai.shapes import EngineSettings, StreamOptions, engine_settings
from webapp.ground.gateway.errors import ApiError
from webapp.models.registry.offered import chosen
from webapp.requests import services
from webapp.requests.input import PlainInput
from webapp.surfaces.calls.call import PlainCall
from webapp.surfaces.calls.messages import Said, messages_of
from webapp.surfaces.calls.settings import MAX_ANSWERS, settings_of

_DEFAULT_MAX_TOKENS = 16
MAX_LOGPROBS = 5


class CompletionsBody(EngineSettings):
    """A completion's body."""

    model: str
    prompt: str | tuple[Any, ...] | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    stop: str | tuple[str, ...] | None = None
    n: int | None = None
    seed: int | None = None
    logprobs: int | None = None
    echo: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    # Accepted, without an effect here.
    user: str | None = None
    # What this server cannot do: refused by name.
    suffix: str | None = None
    best_of: int | None = None


def plain_call_of(body: CompletionsBody) -> PlainCall:
    """Return the answers to all prompts, those of the first prompt first. Raises ApiError, UnknownModel."""
    _check(body)
    num_each = body.n or 1
    prompts = prompts_of(body)
    if len(prompts) * num_each > MAX_ANSWERS:
        message = f"{len(prompts)} prompts with n = {num_each} are more than {MAX_ANSWERS} answers. Send several calls."
        raise ApiError(400, "invalid", message, "prompt")
    try:
        params = settings_of(body.model, _settings(body), num_each)
    except ApiError as error:
        raise renamed(error, {"params.max_tokens": "max_tokens"}) from None
    inputs = tuple(prompt for prompt in prompts for _ in range(num_each))
    return PlainCall(body.model, inputs, params * len(prompts))


def _check(body: CompletionsBody) -> None:
    num_each = 1 if body.n is None else body.n
    if not 1 <= num_each <= MAX_ANSWERS:
        raise ApiError(400, "invalid", f"n must be from 1 to {MAX_ANSWERS}.", "n")
    if body.best_of not in (None, num_each):
        raise ApiError(400, "unsupported_parameter", "best_of is not supported here. Leave it out.", "best_of")
    if body.suffix:
        raise ApiError(400, "unsupported_parameter", "suffix is not supported here. Leave it out.", "suffix")
    if not 0 <= (body.logprobs or 0) <= MAX_LOGPROBS:
        raise ApiError(400, "invalid", f"logprobs must be from 0 to {MAX_LOGPROBS}.", "logprobs")
    if body.echo and body.logprobs is not None:
        message = "echo with logprobs is not supported here: a prompt's tokens have no log-probabilities."
        raise ApiError(400, "unsupported_parameter", message, "echo")
    if body.stream_options is not None and not body.stream:
        raise ApiError(400, "invalid", "stream_options needs stream to be true.", "stream_options")
    if not 0 <= (0 if body.temperature is None else body.temperature) <= 2:
        raise ApiError(400, "invalid", "temperature must be from 0 to 2.", "temperature")


def _settings(body: CompletionsBody) -> dict[str, Any]:
    return {
        "max_tokens": _DEFAULT_MAX_TOKENS if body.max_tokens is None else body.max_tokens,
        "temperature": body.temperature,
        "top_p": 1e-9 if body.top_p == 0 else body.top_p,
        **engine_settings(body),
        "frequency_penalty": body.frequency_penalty,
        "presence_penalty": body.presence_penalty,
        "logit_bias": biases(body.logit_bias),
        "stop": (body.stop,) if isinstance(body.stop, str) else body.stop,
        "seed": None if body.seed is None else body.seed % 2**53,
    }


def prompts_of(body: CompletionsBody) -> list[PlainInput]:
    """Raises ApiError, UnknownModel."""
    given = body.prompt
    if isinstance(given, tuple) and given and all(_is_id(each) for each in given):
        return [_of_ids(body.model, list(given), "prompt")]
    texts = list(given) if isinstance(given, tuple) else [given or ""]
    if not texts:
        raise ApiError(400, "invalid", "prompt is empty. Send a text.", "prompt")
    places = [f"prompt[{index}]" if isinstance(given, tuple) else "prompt" for index in range(len(texts))]
    return [_prompt(body.model, each, place) for each, place in zip(texts, places, strict=True)]


def _prompt(model: str, given: object, place: str) -> PlainInput:
    if isinstance(given, list) and given and all(_is_id(each) for each in given):
        return _of_ids(model, given, place)
    if not isinstance(given, str):
        raise ApiError(400, "invalid", f"{place} must be a text, or a list of token ids.", place)
    if not given:
        raise ApiError(400, "invalid", f"{place} is empty. Send a text.", place)
    return PlainInput(messages_of([Said("user", given, place)], ()))


def _of_ids(model: str, ids: list[int], place: str) -> PlainInput:
    served = services.prompt_services(chosen(model))
    wrong = next((token for token in ids if not 0 <= token < served.num_ids), None)
    if wrong is not None:
        message = f"{place} has the token {wrong}; this model's ids go from 0 to {served.num_ids - 1}."
        raise ApiError(400, "invalid", message, place)
    if len(ids) > served.window:
        message = f"{place} has {len(ids):,} tokens; the model's window holds {served.window:,}."
        raise ApiError(400, "prompt_too_long", message, place)
    text = b"".join(map(served.tokenizer.label, ids)).decode(errors="replace")
    return PlainInput(messages_of([Said("user", text, place)], ()), tuple(ids))


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
