"""The one way from messages to a prompt, for what is sent and for what would be. Knows nothing of logs or tasks."""

from __future__ import annotations

from collections.abc import Sequence

from inference.protocol.events import ContextAssembled
from inference.protocol.request import SamplingParams
from inference.tokenization.gguf_metadata import TokenizerError
from inference.tokenization.template_process import TemplateError
from webapp.context.assemble import Assembled, ContextTooLarge, SourceMessage
from webapp.requests import services
from webapp.requests.failure import Failure


def pack(messages: Sequence[SourceMessage], params: SamplingParams) -> Assembled:
    """Raises Failure."""
    try:
        return services.prompt_services().assembler.assemble(messages, params.max_tokens)
    except ContextTooLarge as error:
        raise Failure("context", "prompt_too_long", str(error)) from None
    except (TokenizerError, TemplateError) as error:
        raise Failure("context", "model_unavailable", f"The model's tokenizer cannot be used: {error}") from error


def context_event(assembled: Assembled, at: int, duration_us: int) -> ContextAssembled:
    """at: when it was assembled, µs since acceptance, the tokenizer's time included in neither figure."""
    return ContextAssembled(
        at=at,
        window=assembled.window,
        reserved_output=assembled.reserved_output,
        num_prompt_tokens=len(assembled.prompt.ids),
        segments=assembled.segments,
        dropped=assembled.dropped,
        duration_us=duration_us,
    )


def most_output(assembled: Assembled, params: SamplingParams) -> int:
    """How many tokens the answer may have: as many as were asked for, or as the window has room for."""
    return min(params.max_tokens, assembled.window - len(assembled.prompt.ids))
