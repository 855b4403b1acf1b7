"""A brought body as the prompt of a model here, of whatever size. Computes; knows nothing of HTTP."""

from __future__ import annotations

from dataclasses import dataclass

from inference.tokenization.template_process import TemplateError
from webapp.api.surfaces.bring.parse import Brought
from webapp.ground.context.assemble import Assembled
from webapp.ground.gateway.errors import ApiError
from webapp.lifecycle.prompt_packing import pack, pack_plain, served
from webapp.requests.input import PlainInput
from webapp.requests.services import PromptServices
from webapp.surfaces.calls.call import Call, PlainCall


@dataclass(frozen=True)
class BroughtPrompt:
    """A brought body and its prompt."""

    brought: Brought
    assembled: Assembled
    served: PromptServices


def prompt_of(brought: Brought) -> BroughtPrompt:
    """Raises ApiError, CannotPrepare."""
    found, prompt = served(brought.model), brought.prompt
    try:
        if isinstance(prompt, PlainInput):
            return BroughtPrompt(brought, found.assembler.whole_plain(prompt.messages[0], prompt.ids), found)
        return BroughtPrompt(brought, found.assembler.whole(prompt), found)
    except TemplateError as error:
        raise ApiError(
            400, "invalid", f"The template of {brought.model} cannot write these messages: {error}"
        ) from None


def check_fits(prompt: BroughtPrompt, call: Call | PlainCall) -> None:
    """Pack the prompt as a request with the call's settings would. Raises CannotPrepare where it would not fit."""
    given, params = prompt.brought.prompt, call.params[0]
    if isinstance(given, PlainInput):
        pack_plain(prompt.served, given, params)
    else:
        pack(prompt.served, given, params, "drop" if isinstance(call, Call) and call.may_drop else "fill")


def place_of(source: str) -> str:
    """The part's place in the body; empty: the template writes it."""
    return "" if source == "template" else source.removeprefix("api:")
