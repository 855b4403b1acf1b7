"""The first part of a re-run's story: the saved prompt is handed over, id by id, and so is how its answer begins."""

from __future__ import annotations

import msgspec

from inference.protocol.events import ContextAssembled, GenerationForked, PromptTokenized, SafetyChecked
from inference.protocol.request import GenerationRequest
from webapp.context.assemble import Assembled, ContextTooLarge
from webapp.lifecycle.fork import shown_text
from webapp.lifecycle.handover import Handover
from webapp.lifecycle.prepare import Packed, Preparation
from webapp.requests import services
from webapp.requests.failure import Failure
from webapp.requests.models import Request


class SavedPreparation(Preparation):
    """Prepares a request whose input has `saved`: the context, the prompt and, of a fork, what it was given."""

    def __init__(self, request: Request, handover: Handover) -> None:
        super().__init__(request, handover)
        self._saved = request.input["saved"]

    def _assemble(self) -> Assembled:
        context = msgspec.convert(self._saved["context"], ContextAssembled)
        prompt = msgspec.convert(self._saved["prompt"], PromptTokenized)
        try:
            return services.prompt_services().assembler.restore(context, prompt, self._params.max_tokens)
        except ContextTooLarge as error:
            raise Failure("context", "prompt_too_long", str(error)) from None

    def _hand_over(self, checked: SafetyChecked, packed: Packed) -> None:
        given = self._saved.get("forked")
        if given is None:
            super()._hand_over(checked, packed)
        else:
            self._hand_over_fork(checked, packed, msgspec.convert(given, GenerationForked))

    def _hand_over_fork(self, checked: SafetyChecked, packed: Packed, given: GenerationForked) -> None:
        """What the fork was given is looked at as an answer is: the policy may have changed."""
        pieces = tuple(map(services.prompt_services().tokenizer.piece, given.ids))
        text = b"".join(pieces).decode("utf-8", "replace")
        check = services.guard().check(text, "output")
        kept = check.event(self._clock.at(), "output", 0, len(text))
        done = [*sorted([checked, *self._packing_events(packed)], key=lambda event: event.at), kept]
        if check.verdict == "block":
            self._handover.note(done)
            raise Failure("safety", "blocked", check.replacement)
        shown = shown_text(pieces, self._params.stop)
        forked = msgspec.structs.replace(given, at=self._clock.at(), pieces=pieces, text=shown)
        self._handover.give([*done, forked], self._fork(packed, given.ids, shown))

    def _fork(self, packed: Packed, ids: tuple[int, ...], shown: str) -> GenerationRequest:
        generation = self._generation(packed.assembled)
        return msgspec.structs.replace(generation, kept_ids=ids, kept_text=shown)
