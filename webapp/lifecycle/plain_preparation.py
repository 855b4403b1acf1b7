"""The preparation of a plain text: its tokens are the prompt, without the chat template."""

from __future__ import annotations

from webapp.ground.context.assemble import Assembled
from webapp.lifecycle.prepare import Preparation
from webapp.lifecycle.prompt_packing import pack_plain
from webapp.requests.input import Messages, PlainInput
from webapp.requests.models import Request


class PlainPreparation(Preparation):
    """Prepares a text that the model goes on with."""

    def __init__(self, request: Request, source: PlainInput) -> None:
        super().__init__(request, source)
        self._plain = source

    def _assemble(self, messages: Messages) -> Assembled:
        return pack_plain(self._model, self._plain, self._params)
