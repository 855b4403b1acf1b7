"""The bodies of OpenAI's chat completions, as its clients send them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Shape(msgspec.Struct, forbid_unknown_fields=True):
    """Base of what a client sends. An unknown field is refused by its name, as OpenAI does."""


class Echo(Shape, forbid_unknown_fields=False):
    """What a client got from a server and sends back. Its own notes may hang on it; they change nothing here."""


CacheTtl = Literal["30m", "12h"]
"""The least time for which the client wants a prompt's beginning kept."""


class CacheBreakpoint(Shape):
    """The end of a beginning of the prompt that the client wants kept."""

    mode: Literal["explicit"]
    ttl: CacheTtl | None = None


class CacheOptions(Shape):
    """What the client wants of the prefix cache."""

    mode: Literal["implicit", "explicit"] | None = None
    ttl: CacheTtl | None = None
    prewarm: bool | None = None
    comparison_response_id: str | None = None


class TextPart(Shape, tag="text"):
    text: str
    prompt_cache_breakpoint: CacheBreakpoint | None = None


class RefusalPart(Shape, tag="refusal"):
    refusal: str


class ImagePart(Shape, tag="image_url"):
    image_url: Any


class AudioPart(Shape, tag="input_audio"):
    input_audio: Any


class FilePart(Shape, tag="file"):
    file: Any


Part = TextPart | RefusalPart | ImagePart | AudioPart | FilePart
Content = str | tuple[Part, ...] | None


class CalledFunction(Echo):
    name: str
    arguments: str


class ToolCall(Echo):
    id: str
    function: CalledFunction
    type: Literal["function"] = "function"
    index: int | None = None
    """Some clients send back what a stream gave them."""


class SystemMessage(Shape, tag="system", tag_field="role"):
    content: Content
    name: str | None = None


class DeveloperMessage(Shape, tag="developer", tag_field="role"):
    content: Content
    name: str | None = None


class UserMessage(Shape, tag="user", tag_field="role"):
    content: Content
    name: str | None = None


class AssistantMessage(Echo, tag="assistant", tag_field="role"):
    content: Content = None
    tool_calls: tuple[ToolCall, ...] | None = None
    refusal: str | None = None
    name: str | None = None
    audio: Any = None
    annotations: Any = None
    function_call: Any = None


class ToolMessage(Shape, tag="tool", tag_field="role"):
    content: Content
    tool_call_id: str
    name: str | None = None


Message = SystemMessage | DeveloperMessage | UserMessage | AssistantMessage | ToolMessage


class FunctionDefinition(Shape):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ToolDefinition(Shape):
    function: FunctionDefinition
    type: Literal["function"] = "function"


class NamedFunction(Shape):
    name: str


class NamedTool(Shape):
    function: NamedFunction
    type: Literal["function"] = "function"


class SchemaFormat(Shape):
    name: str
    schema: dict[str, Any] | None = None
    description: str | None = None
    strict: bool | None = None


class TextForm(Shape, tag="text"):
    pass


class JsonForm(Shape, tag="json_object"):
    pass


class SchemaForm(Shape, tag="json_schema"):
    json_schema: SchemaFormat


class StreamOptions(Shape):
    include_usage: bool = False
    include_obfuscation: bool | None = None


Retention = Literal["in_memory", "in-memory", "24h"]
"""The longest time for which the client lets a prompt's beginning be kept. Here it is kept in memory alone."""


class EngineSettings(Shape, kw_only=True):
    """Settings of this engine that OpenAI's has not, by the names that other servers gave them."""

    top_k: int | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repetition_penalty: float | None = None
    dry_multiplier: float | None = None
    dry_base: float | None = None
    dry_allowed_length: int | None = None
    dry_penalty_last_n: int | None = None
    dry_sequence_breakers: tuple[str, ...] | None = None
    stop_token_ids: tuple[int, ...] | None = None


def engine_settings(body: EngineSettings) -> dict[str, Any]:
    """As fields of SamplingParams. None: the model's own value."""
    return {name: getattr(body, name) for name in EngineSettings.__struct_fields__}


class ChatBody(EngineSettings):
    """A chat completion's body. Fields that change nothing here are accepted and left alone."""

    model: str
    messages: tuple[Message, ...]
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    stop: str | tuple[str, ...] | None = None
    n: int | None = None
    seed: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: tuple[ToolDefinition, ...] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedTool | None = None
    parallel_tool_calls: bool | None = None
    response_format: TextForm | JsonForm | SchemaForm | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: CacheOptions | None = None
    # Accepted, without an effect here.
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_retention: Retention | None = None
    metadata: dict[str, Any] | None = None
    store: bool | None = None
    service_tier: str | None = None
    reasoning_effort: str | None = None
    verbosity: str | None = None
    prediction: dict[str, Any] | None = None
    # What this server cannot do: refused by name.
    modalities: tuple[str, ...] | None = None
    audio: Any = None
    web_search_options: Any = None
    functions: Any = None
    function_call: Any = None
    moderation: Any = None
