"""The preparation of a re-run: takes over the saved prompt's ids and, of a fork, its answer's first tokens."""

from __future__ import annotations

import msgspec

from inference.protocol.events import GenerationForked, SafetyChecked
from inference.protocol.failures import Failure
from webapp.ground.context.assemble import Assembled, ContextTooLarge
from webapp.lifecycle.fork import shown_text
from webapp.lifecycle.prepare import Packed, Preparation, Prepared
from webapp.requests import services
from webapp.requests.failure import CannotPrepare
from webapp.requests.input import Messages, SavedInput
from webapp.requests.models import Request


class RerunPreparation(Preparation):
    """Prepares a request that already has its context and prompt and, for a fork, its answer's first tokens."""

    def __init__(self, request: Request, source: SavedInput) -> None:
        super().__init__(request, source)
        self._saved = source

    def _assemble(self, messages: Messages) -> Assembled:
        try:
            return self._model.assembler.restore(self._saved.context, self._saved.prompt, self._params.max_tokens)
        except ContextTooLarge as error:
            raise CannotPrepare("context", "prompt_too_long", str(error)) from None

    def _prepared(self, checked: SafetyChecked, packed: Packed) -> Prepared:
        if self._saved.forked is None:
            return super()._prepared(checked, packed)
        return self._prepared_fork(checked, packed, self._saved.forked)

    def _prepared_fork(self, checked: SafetyChecked, packed: Packed, given: GenerationForked) -> Prepared:
        """Check the fork's given tokens as an answer: the policy may have changed."""
        pieces = tuple(map(self._model.tokenizer.piece, given.ids))
        text = b"".join(pieces).decode("utf-8", "replace")
        check = services.guard(self._request.user_id).check(text, "output").of_known_text()
        kept = check.event(self._clock.at(), "output", 0, len(text))
        events = [*self._in_order(checked, packed), kept]
        if check.verdict == "block":
            return Prepared(events, Failure("safety", "blocked", check.replacement))
        shown = shown_text(pieces, self._params.stop, self._saved.prompt.thinking)
        forked = msgspec.structs.replace(
            given, at=self._clock.at(), pieces=pieces, text=shown.text, thinking=shown.thinking
        )
        return Prepared([*events, forked])
