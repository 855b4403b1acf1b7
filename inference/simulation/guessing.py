"""Guesses a known answer with the engine's own prompt lookup. Knows nothing of models.

As in the engine, guesses are kept up to the first wrong one, and each pass of the model adds one token.
"""

from __future__ import annotations

from inference.engine.drafting.draft import NgramIndex
from inference.protocol.experiments import Guesses, GuessRequest, GuessStep


def guess(request: GuessRequest) -> Guesses:
    """Return every pass until the answer is complete."""
    index, answer, steps, position = NgramIndex(), request.answer, [], 0
    while position < len(answer):
        text = request.prompt + answer[:position]
        num_wanted = min(request.num_guesses, len(answer) - position - 1)
        guesses = index.propose(text, num_wanted) if num_wanted else ()
        num_accepted = _num_right(guesses, answer[position:])
        steps.append(
            GuessStep(position=position, guesses=guesses, num_accepted=num_accepted, num_tokens=num_accepted + 1)
        )
        position += num_accepted + 1
    return Guesses(steps=tuple(steps))


def _num_right(guesses: tuple[int, ...], coming: tuple[int, ...]) -> int:
    pairs = enumerate(zip(guesses, coming, strict=False))
    return next((index for index, (guessed, token) in pairs if guessed != token), len(guesses))
