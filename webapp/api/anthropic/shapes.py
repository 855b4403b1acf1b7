"""The bodies of Anthropic's messages, as its clients send them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Shape(msgspec.Struct, forbid_unknown_fields=True):
    """Base of what a client sends. An unknown field is refused by its name, as Anthropic does."""


class CacheControl(Shape):
    """A breakpoint: the prompt up to here is kept for a time after its last use."""

    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] = "5m"


class Cacheable(Shape):
    """A part that may end with a breakpoint."""

    cache_control: CacheControl | None = None


class TextBlock(Cacheable, tag="text", kw_only=True):
    text: str
    citations: Any = None


class ImageSource(Shape):
    """`base64` with media type and data; `url` and `file` are refused in words."""

    type: str
    media_type: Any = None
    data: Any = None
    url: Any = None
    file_id: Any = None


class ImageBlock(Cacheable, tag="image", kw_only=True):
    source: ImageSource
    transformations: Any = None


class TextSource(Shape, tag="text"):
    data: str
    media_type: Literal["text/plain"] = "text/plain"


class ContentSource(Shape, tag="content"):
    content: str | tuple[TextBlock | ImageBlock, ...]


class PdfSource(Shape, tag="base64"):
    data: Any = None
    media_type: Any = None


class UrlSource(Shape, tag="url"):
    url: Any = None


class FileSource(Shape, tag="file"):
    file_id: Any = None


class DocumentBlock(Cacheable, tag="document", kw_only=True):
    source: TextSource | ContentSource | PdfSource | UrlSource | FileSource
    title: str | None = None
    context: str | None = None
    citations: Any = None


class SearchResultBlock(Cacheable, tag="search_result", kw_only=True):
    content: tuple[TextBlock, ...]
    source: str
    title: str
    citations: Any = None


class ToolUseBlock(Cacheable, tag="tool_use", kw_only=True):
    id: str
    name: str
    input: dict[str, Any]
    caller: Any = None
    toolset_name: str | None = None


ResultPart = TextBlock | ImageBlock | DocumentBlock | SearchResultBlock


class ToolResultBlock(Cacheable, tag="tool_result", kw_only=True):
    tool_use_id: str
    content: str | tuple[ResultPart, ...] | None = None
    is_error: bool = False
    toolset_name: str | None = None


class ThinkingBlock(Shape, tag="thinking"):
    thinking: str = ""
    signature: str = ""


class RedactedThinkingBlock(Shape, tag="redacted_thinking"):
    data: str = ""


class Foreign(msgspec.Struct):
    """A block of a tool that Anthropic's own servers run. A history from there may have some; the model reads none."""


class ServerToolUseBlock(Foreign, tag="server_tool_use"):
    pass


class WebSearchBlock(Foreign, tag="web_search_tool_result"):
    pass


class WebFetchBlock(Foreign, tag="web_fetch_tool_result"):
    pass


class CodeExecutionBlock(Foreign, tag="code_execution_tool_result"):
    pass


class BashCodeExecutionBlock(Foreign, tag="bash_code_execution_tool_result"):
    pass


class EditorCodeExecutionBlock(Foreign, tag="text_editor_code_execution_tool_result"):
    pass


class ToolSearchBlock(Foreign, tag="tool_search_tool_result"):
    pass


class ContainerUploadBlock(Foreign, tag="container_upload"):
    pass


Block = (
    TextBlock
    | ImageBlock
    | DocumentBlock
    | SearchResultBlock
    | ToolUseBlock
    | ToolResultBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ServerToolUseBlock
    | WebSearchBlock
    | WebFetchBlock
    | CodeExecutionBlock
    | BashCodeExecutionBlock
    | EditorCodeExecutionBlock
    | ToolSearchBlock
    | ContainerUploadBlock
)


class Message(Shape):
    role: Literal["user", "assistant", "system"]
    content: str | tuple[Block, ...]


class ToolDefinition(Cacheable, kw_only=True):
    name: str
    input_schema: dict[str, Any]
    description: str = ""
    strict: bool | None = None
    type: Literal["custom"] | None = None
    # Accepted, without an effect here.
    eager_input_streaming: bool | None = None
    input_examples: Any = None
    defer_loading: bool | None = None
    allowed_callers: Any = None


class AutoChoice(Shape, tag="auto"):
    disable_parallel_tool_use: bool = False


class AnyChoice(Shape, tag="any"):
    disable_parallel_tool_use: bool = False


class ToolChoice(Shape, tag="tool"):
    name: str
    disable_parallel_tool_use: bool = False


class NoChoice(Shape, tag="none"):
    pass


class ThinkingOn(Shape, tag="enabled"):
    budget_tokens: int
    display: str | None = None


class ThinkingAdaptive(Shape, tag="adaptive"):
    display: str | None = None


class ThinkingBetweenTools(msgspec.Struct, tag="between_tools"):
    pass


class ThinkingOff(Shape, tag="disabled"):
    pass


class JsonFormat(Shape):
    type: Literal["json_schema"]
    schema: dict[str, Any]


class OutputConfig(Shape):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: JsonFormat | None = None


class Metadata(Shape):
    user_id: str | None = None


class PromptBody(Shape, kw_only=True):
    """All that a prompt is made of. Fields that change nothing here are accepted and left alone."""

    model: str
    messages: tuple[Message, ...]
    system: str | tuple[TextBlock, ...] | None = None
    tools: tuple[dict[str, Any], ...] | None = None
    """Read one by one: a tool of Anthropic's own servers is refused by its type."""
    tool_choice: AutoChoice | AnyChoice | ToolChoice | NoChoice | None = None
    thinking: ThinkingOn | ThinkingAdaptive | ThinkingBetweenTools | ThinkingOff | None = None
    output_config: OutputConfig | None = None
    cache_control: CacheControl | None = None
    # Accepted, without an effect here.
    context_management: Any = None
    user_profile_id: str | None = None
    speed: Literal["standard", "fast"] | None = None
    # Refused by name.
    mcp_servers: Any = None
    compaction: Any = None
    thread: Any = None
    """The conversation is to be kept by the server. A client that is refused sends all messages itself."""


class MessageBody(PromptBody, kw_only=True):
    max_tokens: int
    stop_sequences: tuple[str, ...] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stream: bool = False
    # Accepted, without an effect here.
    metadata: Metadata | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    inference_geo: str | None = None
    diagnostics: Any = None
    billing_policy: Any = None
    # Refused by name.
    container: Any = None
    fallbacks: Any = None
    fallback_credit_token: Any = None


class CountBody(PromptBody, kw_only=True):
    """The body of a count: a prompt without an answer."""
