"""The tokens whose text waits for a check, with their places in it. Knows nothing of checks or the log."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inference.protocol.events import TokenSampled
from inference.safety.findings import Finding
from inference.safety.rewriting import replacement_of

_VOID = 1 << 30
"""Above any vocabulary's ids."""


@dataclass(frozen=True)
class Held:
    """A token and the stretch of the waiting text that it wrote."""

    token: TokenSampled
    start: int
    end: int
    """Beyond the text's end where the token ends within a character."""


def num_before(held: Sequence[Held], place: int) -> int:
    """Return the number of leading tokens that end at or before the place."""
    return next((num for num, each in enumerate(held) if each.end > place), len(held))


def without_found(held: Sequence[Held], text: str, found: Sequence[Finding]) -> list[TokenSampled]:
    """Return the tokens; those that wrote a part of a finding show its replacement alone.

    Tokens of one finding or one character, and findings that share a token, become one run. A rewritten run's first
    token has all the bytes.
    """
    tokens: list[TokenSampled] = []
    for run in _runs(held, found):
        is_found = any(_overlap(each, item) for each in run for item in found)
        tokens += _rewritten(run, text, found) if is_found else [each.token for each in run]
    return tokens


def withheld(token: TokenSampled, piece: bytes) -> TokenSampled:
    """The token without anything that tells of it.

    Its id is no token's, and the same for equal pieces: a saved trace holds each id's bytes once.
    """
    return TokenSampled(
        at=token.at,
        generation=token.generation,
        position=token.position,
        id=_VOID + zlib.crc32(piece) % _VOID,
        piece=piece,
        is_shown=False,
        is_withheld=True,
        logprob=None,
        rank=None,
        entropy=None,
        u=None,
        low=None,
        high=None,
        log_normalizer=None,
        candidate_ids=(),
        candidate_logits=(),
        candidate_pieces=(),
        processors=None,
        step_us=token.step_us,
        batch_size=token.batch_size,
    )


def share_character(one: Held, following: Held) -> bool:
    """Return whether the first token ends within a character that the next goes on with."""
    return one.end > following.start


def _runs(held: Sequence[Held], found: Sequence[Finding]) -> Iterator[list[Held]]:
    run: list[Held] = []
    for each in held:
        if run and not _are_joined(run[-1], each, found):
            yield run
            run = []
        run.append(each)
    if run:
        yield run


def _are_joined(one: Held, following: Held, found: Sequence[Finding]) -> bool:
    return share_character(one, following) or any(_overlap(one, each) and _overlap(following, each) for each in found)


def _overlap(held: Held, finding: Finding) -> bool:
    return held.start < finding.end and finding.start < held.end


def _rewritten(run: Sequence[Held], text: str, found: Sequence[Finding]) -> list[TokenSampled]:
    start, end = run[0].start, min(run[-1].end, len(text))
    parts: list[str] = []
    for each in found:
        if start <= each.start < end:
            parts += [text[start : each.start], replacement_of(each)]
            start = each.end
    piece = "".join([*parts, text[start:end]]).encode()
    return [withheld(each.token, b"" if at else piece) for at, each in enumerate(run)]


def shifted(held: Held, num_chars: int) -> Held:
    """The held token after so many characters before it were let go."""
    return Held(held.token, held.start - num_chars, held.end - num_chars)
