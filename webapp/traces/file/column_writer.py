"""Converts token.sampled events to columns. Knows nothing of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from inference.protocol.events import ProcessorEffect, TokenSampled
from webapp.traces.file.columns import DELTAS, FLOATS, INTEGERS, LATER, ProcessorColumns, TokenColumns, expected_logprob
from webapp.traces.file.numbers import pack


def to_columns(tokens: Sequence[TokenSampled]) -> TokenColumns:
    """The tokens as columns of plain values for msgpack."""
    listed = [token for each in tokens for token in each.candidate_ids]
    ids, num_repeated = _ordered_ids(tokens, listed)
    pieces = _pieces(tokens)
    place = {token: index + 1 for index, token in enumerate(ids[:num_repeated])}
    names = [
        None if each.processors is None else tuple(processor.name for processor in each.processors) for each in tokens
    ]
    kinds = list(dict.fromkeys(each for each in names if each is not None))
    fields = {name: pack([getattr(each, name) for each in tokens], is_delta=name in DELTAS) for name in INTEGERS}
    fields |= {name: pack([getattr(each, name) for each in tokens]) for name in FLOATS[:-1]}
    fields["logprob"] = pack([each.logprob for each in tokens], _expected(tokens))
    return TokenColumns(
        num_tokens=len(tokens),
        fields=fields,
        num_candidates=pack([len(each.candidate_ids) for each in tokens]),
        candidates=pack([place.get(token, 0) for token in listed]),
        candidate_logits=pack([logit for each in tokens for logit in each.candidate_logits], is_delta=True),
        ids=pack(ids),
        num_ids=len(ids),
        num_repeated=num_repeated,
        num_bytes=pack([len(pieces[token]) for token in ids]),
        pieces=b"".join(pieces[token] for token in ids),
        chains=[_pack_chain([t for t, n in zip(tokens, names, strict=True) if n == kind]) for kind in kinds],
        chain=pack([None if each is None else kinds.index(each) for each in names]),
        later=_pack_later(tokens),
    )


def _ordered_ids(tokens: Sequence[TokenSampled], listed: list[int]) -> tuple[list[int], int]:
    """All ids, with those listed as a candidate exactly once at the end; and the number of the others."""
    counts = Counter(listed)
    counts.update(each.id for each in tokens if each.id not in each.candidate_ids)
    unlisted = counts.keys() - set(listed)
    repeated = [token for token, count in counts.items() if count > 1 or token in unlisted]
    repeated.sort(key=lambda token: (-counts[token], token))
    once = [token for token, count in counts.items() if count == 1 and token not in unlisted]
    return repeated + once, len(repeated)


def _pieces(tokens: Sequence[TokenSampled]) -> dict[int, bytes]:
    table = {token.id: token.piece for token in tokens}
    for token in tokens:
        table |= dict(zip(token.candidate_ids, token.candidate_pieces, strict=True))
    return table


def _expected(tokens: Sequence[TokenSampled]) -> list[float]:
    return [expected_logprob(t.id, t.candidate_ids, t.candidate_logits, t.log_normalizer) for t in tokens]


def _pack_chain(tokens: Sequence[TokenSampled]) -> list[ProcessorColumns]:
    """The processors of tokens whose processors have the same names."""
    before: list[float | None] = [token.log_normalizer for token in tokens]
    found = []
    for processors in zip(*(token.processors or () for token in tokens), strict=True):
        found.append(_pack_processor(tokens, processors, before))
        before = [processor.log_normalizer for processor in processors]
    return found


def _pack_processor(
    tokens: Sequence[TokenSampled], processors: Sequence[ProcessorEffect], before: Sequence[float | None]
) -> ProcessorColumns:
    raw: list[float] = []
    logits: list[float] = []
    for token, processor in zip(tokens, processors, strict=True):
        logits += processor.logits or ()
        raw += token.candidate_logits[: len(processor.logits or ())]
    return ProcessorColumns(
        name=processors[0].name,
        num_candidates=pack([processor.num_candidates for processor in processors]),
        mass=pack([processor.mass for processor in processors]),
        log_normalizer=pack([processor.log_normalizer for processor in processors], before),
        first=pack([processor.first for processor in processors]),
        num_logits=pack([None if processor.logits is None else len(processor.logits) for processor in processors]),
        logits=pack(logits, raw if len(raw) == len(logits) else None),
        num_masked=pack([len(processor.masked) for processor in processors]),
        masked=pack([token for processor in processors for token in processor.masked]),
    )


def _pack_later(tokens: Sequence[TokenSampled]) -> bytes:
    defaults = dict(
        zip(reversed(TokenSampled.__struct_fields__), reversed(TokenSampled.__struct_defaults__), strict=False)
    )
    found = []
    for index, token in enumerate(tokens):
        values = {name: getattr(token, name) for name in LATER if getattr(token, name) != defaults[name]}
        if values:
            found.append((index, values))
    return msgspec.json.encode(found)
