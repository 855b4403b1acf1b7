"""The bodies of OpenAI's responses, as its clients send them."""

from __future__ import annotations

from typing import Any, Literal

from webapp.api.openai.shapes import CacheBreakpoint, CacheOptions, JsonForm, Retention, Shape, TextForm


class TextFormatSchema(Shape, tag="json_schema"):
    name: str
    schema: dict[str, Any]
    description: str | None = None
    strict: bool | None = None


class TextConfig(Shape):
    format: TextForm | JsonForm | TextFormatSchema | None = None
    verbosity: str | None = None


class ResponseBody(Shape):
    """A response's body. Fields that change nothing here are accepted and left alone."""

    model: str
    input: str | tuple[dict[str, Any], ...] = ()
    instructions: str | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_logprobs: int | None = None
    include: tuple[str, ...] | None = None
    tools: tuple[dict[str, Any], ...] | None = None
    tool_choice: Literal["none", "auto", "required"] | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    text: TextConfig | None = None
    previous_response_id: str | None = None
    store: bool | None = None
    background: bool | None = None
    stream: bool | None = None
    metadata: dict[str, str] | None = None
    truncation: Literal["auto", "disabled"] | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: CacheOptions | None = None
    # Accepted, without an effect here.
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_retention: Retention | None = None
    service_tier: str | None = None
    reasoning: dict[str, Any] | None = None
    max_tool_calls: int | None = None
    stream_options: dict[str, Any] | None = None
    # What this server cannot do: refused by name.
    conversation: Any = None
    prompt: Any = None
    background_options: Any = None
    context_management: Any = None
    image: Any = None
    moderation: Any = None
    access_programs: Any = None
    # A setting of this engine that OpenAI's responses have not.
    seed: int | None = None


class InputText(Shape, tag="input_text"):
    text: str
    prompt_cache_breakpoint: CacheBreakpoint | None = None


class OutputText(Shape, tag="output_text"):
    """A part of an answer that a client sends back as it got it."""

    text: str
    annotations: Any = None
    logprobs: Any = None
    parsed: Any = None


class RefusalPart(Shape, tag="refusal"):
    refusal: str


class InputImage(Shape, tag="input_image"):
    image_url: Any = None
    file_id: Any = None
    detail: Any = None
    prompt_cache_breakpoint: Any = None


class InputFile(Shape, tag="input_file"):
    file_data: Any = None
    file_id: Any = None
    file_url: Any = None
    filename: Any = None
    detail: Any = None
    prompt_cache_breakpoint: Any = None


class InputAudio(Shape, tag="input_audio"):
    input_audio: Any = None


Part = InputText | OutputText | RefusalPart | InputImage | InputFile | InputAudio


class MessageItem(Shape):
    role: Literal["user", "assistant", "system", "developer"]
    content: str | tuple[Part, ...]
    id: str | None = None
    status: str | None = None
    phase: str | None = None


class CallItem(Shape):
    call_id: str
    name: str
    arguments: str
    id: str | None = None
    status: str | None = None
    parsed_arguments: Any = None
    namespace: Any = None
    caller: Any = None
    created_by: Any = None


class ResultItem(Shape):
    call_id: str
    output: str | tuple[Part, ...]
    id: str | None = None
    status: str | None = None
    name: str | None = None
    namespace: Any = None
    caller: Any = None
    created_by: Any = None


class ReasoningItem(Shape):
    """What a model thought before an earlier answer. A client sends it back; no prompt has it."""

    id: str | None = None
    summary: Any = None
    content: Any = None
    encrypted_content: Any = None
    status: str | None = None


class ReferenceItem(Shape):
    id: str


class FunctionTool(Shape):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    # Accepted, without an effect here.
    output_schema: dict[str, Any] | None = None
    defer_loading: bool | None = None
    allowed_callers: tuple[str, ...] | None = None


class NamedFunction(Shape):
    name: str


class AllowedTools(Shape):
    mode: Literal["auto", "required"]
    tools: tuple[dict[str, Any], ...]
