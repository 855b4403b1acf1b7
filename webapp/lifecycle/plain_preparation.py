"""The preparation of a plain text: its tokens are the prompt, without the chat template."""

from __future__ import annotations

from webapp.context.assemble import Assembled, ContextTooLarge
from webapp.lifecycle.prepare import Preparation
from webapp.requests.failure import CannotPrepare
from webapp.requests.input import PlainInput
from webapp.requests.models import Request


class PlainPreparation(Preparation):
    """Prepares a text that the model goes on with."""

    def __init__(self, request: Request, source: PlainInput) -> None:
        super().__init__(request, source)
        self._plain = source

    def _assemble(self) -> Assembled:
        try:
            return self._model.assembler.plain(self._messages[0], self._plain.ids, self._params.max_tokens)
        except ContextTooLarge as error:
            raise CannotPrepare("context", "prompt_too_long", str(error)) from None
