"""Prints a trace file of 2 kB that is valid and holds some 400 MB of objects: run as a program of its own."""

from __future__ import annotations

import sys

from inference.protocol.events import Frame, ProcessorEffect, RequestAccepted, RequestFinished, TokenSampled
from inference.protocol.request import SamplingParams, Usage
from webapp.traces.file.archive import encode

_NUM_TOKENS, _NUM_CANDIDATES = 100_000, 20
_IDS = tuple(range(_NUM_CANDIDATES))
_LOGITS = tuple(map(float, reversed(_IDS)))
_EFFECT = ProcessorEffect(name="temperature", num_candidates=9, mass=1.0, log_normalizer=1.0, logits=_LOGITS, masked=())


def _token(position: int) -> TokenSampled:
    return TokenSampled(
        at=position,
        position=position,
        id=1,
        piece=b"a",
        is_special=False,
        is_shown=True,
        rank=1,
        step_us=1,
        batch_size=1,
        entropy=0.5,
        u=0.5,
        low=0.0,
        high=1.0,
        log_normalizer=1.0,
        logprob=0.0,
        candidate_ids=_IDS,
        candidate_logits=_LOGITS,
        candidate_pieces=(b"a",) * _NUM_CANDIDATES,
        processors=(_EFFECT, _EFFECT),
    )


def main() -> None:
    accepted = RequestAccepted(
        at=0, request_id="req_b", surface="chat", model="m", params=SamplingParams(), accepted_unix_us=9
    )
    finished = RequestFinished(at=5, finish_reason="stop", usage=Usage(output=1))
    events = (accepted, *map(_token, range(_NUM_TOKENS)), finished)
    sys.stdout.buffer.write(encode([Frame(seq=1, events=events)], {"title": "bomb"}))


if __name__ == "__main__":
    main()
