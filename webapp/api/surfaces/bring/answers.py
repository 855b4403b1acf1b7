"""A brought answer, put together, with its tokens by a model here. Computes; knows nothing of HTTP."""

from __future__ import annotations

from webapp.api.surfaces.bring.schema import BroughtAnswer, BroughtChoice
from webapp.lifecycle.prompt_packing import served
from webapp.models.registry.offered import chosen
from webapp.surfaces.bring.answer import Answer
from webapp.surfaces.bring.anthropic_answers import message_of, streamed_message
from webapp.surfaces.bring.kinds import StreamedAnswer, WholeAnswer
from webapp.surfaces.bring.openai_answers import completion_of, response_of, streamed_completion, streamed_response

_ANSWER_CHARS, _MAX_CHOICES = 20_000, 100


def answer_of(found: WholeAnswer | StreamedAnswer, model: str | None) -> BroughtAnswer:
    """Raises UnknownModel, CannotPrepare."""
    own = chosen(model)
    answer, tokenizer = put_together(found), served(own).tokenizer
    choices = []
    for index, choice in sorted(answer.choices.items()):
        text = "".join(choice.text)
        num_tokens = tokenizer.num_tokens(text.encode(errors="replace").decode())
        calls = list(choice.calls.values())
        choices.append(BroughtChoice(index, text[:_ANSWER_CHARS], len(text), num_tokens, calls, choice.stop_reason))
    return BroughtAnswer(
        kind=found.kind,
        is_stream=isinstance(found, StreamedAnswer),
        named_model=answer.model,
        model=own,
        choices=choices[:_MAX_CHOICES],
        told=answer.told,
        is_cut=answer.is_cut,
        error=answer.error,
        left_out=answer.left_out,
    )


def put_together(found: WholeAnswer | StreamedAnswer) -> Answer:
    if isinstance(found, StreamedAnswer):
        match found.kind:
            case "messages":
                return streamed_message(found.stream)
            case "responses":
                return streamed_response(found.stream)
        return streamed_completion(found.stream)
    match found.kind:
        case "messages":
            return message_of(found.value)
        case "responses":
            return response_of(found.value)
    return completion_of(found.value)
