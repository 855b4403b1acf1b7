"""The difference of a brought prompt from the one before it. Computes; knows nothing of HTTP."""

from __future__ import annotations

from inference.protocol.events import AnyEvent, ContextCompared, PromptTokenized, RequestAccepted
from inference.protocol.request import SamplingParams
from webapp.api.surfaces.bring.prompt import BroughtPrompt, place_of
from webapp.api.surfaces.bring.schema import BroughtChange, BroughtDifference, BroughtRemoval
from webapp.ground.context.compare import compare
from webapp.lifecycle.prompt_packing import context_event
from webapp.surfaces.bring.prefix import BroughtPrefix, usage_of, whole


def difference(now: BroughtPrompt, before: BroughtPrompt, prefix: BroughtPrefix | None) -> BroughtDifference | None:
    """Returns None where the tokenizers differ."""
    compared = compare("", _events(now), _events(before), ())
    return None if compared is None else _shown(compared, now, prefix)


def _events(prompt: BroughtPrompt) -> list[AnyEvent]:
    tokenizer, made = prompt.served.tokenizer, prompt.assembled.prompt
    model = prompt.brought.model
    tokenized = PromptTokenized(
        at=0,
        tokenizer=tokenizer.name,
        version=tokenizer.version,
        ids=tuple(made.ids),
        pieces=tuple(map(tokenizer.label, made.ids)),
        duration_us=0,
    )
    accepted = RequestAccepted(
        at=0, request_id="", surface="openai", model=model, params=SamplingParams(), accepted_unix_us=0
    )
    return [accepted, context_event(prompt.assembled, 0, 0), tokenized]


def _shown(compared: ContextCompared, now: BroughtPrompt, prefix: BroughtPrefix | None) -> BroughtDifference:
    common, segments = compared.num_common_tokens, now.assembled.segments
    num_tokens = len(now.assembled.prompt.ids)
    most = min(common, num_tokens - 1)  # one token is always computed
    reusable, usage = None, None
    if prefix is not None:
        reusable = whole(most, prefix.block_size)
        usage = usage_of(prefix.marks, num_tokens, prefix.block_size, reusable)
    removed = [each for each in compared.removed if each.kind != "template"]
    return BroughtDifference(
        num_before=compared.num_prompt_tokens,
        num_common=common,
        num_reusable=reusable,
        usage=usage,
        part=next((index for index, each in enumerate(segments) if each.start <= common < each.end), None),
        here=b"".join(compared.here).decode(errors="replace"),
        there=b"".join(compared.there).decode(errors="replace"),
        is_number=bool(compared.is_number),
        added=[index for index in compared.added if segments[index].kind != "template"],
        changed=[BroughtChange(each.index, each.num_tokens, each.text) for each in compared.changed],
        removed=[BroughtRemoval(place_of(each.source), each.num_tokens, each.text) for each in removed],
    )
