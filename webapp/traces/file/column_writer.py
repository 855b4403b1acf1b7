"""Converts token.sampled events to columns. Knows nothing of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from inference.protocol.events import SamplerStage, TokenSampled
from webapp.traces.file.columns import DELTAS, FLOATS, INTEGERS, LATER, StageColumns, TokenColumns, expected_logprob
from webapp.traces.file.numbers import pack


def to_columns(tokens: Sequence[TokenSampled]) -> TokenColumns:
    """The tokens as columns of plain values for msgpack."""
    listed = [token for each in tokens for token in each.candidate_ids]
    ids, num_repeated = _ordered_ids(tokens, listed)
    pieces = _pieces(tokens)
    place = {token: index + 1 for index, token in enumerate(ids[:num_repeated])}
    names = [None if each.stages is None else tuple(stage.name for stage in each.stages) for each in tokens]
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


def _pack_chain(tokens: Sequence[TokenSampled]) -> list[StageColumns]:
    """The stages of tokens whose stages have the same names."""
    before: list[float | None] = [token.log_normalizer for token in tokens]
    found = []
    for stages in zip(*(token.stages or () for token in tokens), strict=True):
        found.append(_pack_stage(tokens, stages, before))
        before = [stage.log_normalizer for stage in stages]
    return found


def _pack_stage(
    tokens: Sequence[TokenSampled], stages: Sequence[SamplerStage], before: Sequence[float | None]
) -> StageColumns:
    raw: list[float] = []
    logits: list[float] = []
    for token, stage in zip(tokens, stages, strict=True):
        logits += stage.logits or ()
        raw += token.candidate_logits[: len(stage.logits or ())]
    return StageColumns(
        name=stages[0].name,
        num_candidates=pack([stage.num_candidates for stage in stages]),
        mass=pack([stage.mass for stage in stages]),
        log_normalizer=pack([stage.log_normalizer for stage in stages], before),
        first=pack([stage.first for stage in stages]),
        num_logits=pack([None if stage.logits is None else len(stage.logits) for stage in stages]),
        logits=pack(logits, raw if len(raw) == len(logits) else None),
        num_masked=pack([len(stage.masked) for stage in stages]),
        masked=pack([token for stage in stages for token in stage.masked]),
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
