"""Reads token.sampled events from untrusted columns: counts are checked before any list is built.
Knows nothing of files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, islice, pairwise
from typing import Any, get_args, get_type_hints

import msgspec

from inference.protocol.events import ProcessorEffect, ProcessorName, TokenSampled
from webapp.traces.file.columns import (
    FLOATS,
    INTEGERS,
    LATER,
    MAX_CANDIDATES,
    MAX_EVENTS,
    MAX_PIECES,
    MAX_PROCESSORS,
    OPTIONAL,
    ProcessorColumns,
    TokenColumns,
    expected_logprob,
)
from webapp.traces.file.numbers import Numbers, unpack

_MOST_LATER_BYTES = 1024
"""Limit per token, for the fields that were added after this form."""


def from_columns(columns: TokenColumns) -> list[TokenSampled]:
    """Inverse of to_columns.

    Raises KeyError, IndexError, ValueError, TypeError or StopIteration on columns that do not fit together.
    """
    num_tokens = columns.num_tokens
    if not 0 <= num_tokens <= MAX_EVENTS:
        raise ValueError("too many tokens")
    counts = _counts(columns.num_candidates, num_tokens, MAX_CANDIDATES)
    pieces = _pieces(columns)
    ids = list(_runs(_candidates(columns, list(pieces), sum(counts)), counts))
    logits = list(_runs(_floats(unpack(columns.candidate_logits, sum(counts))), counts))
    fields = _fields(columns, ids, logits)
    processors = _chains(columns, logits, fields["log_normalizer"])
    rows = zip(zip(*fields.values(), strict=True), fields["id"], ids, logits, processors, strict=True)
    tokens = [
        TokenSampled(
            **dict(zip(fields, values, strict=True)),
            piece=pieces[chosen],
            candidate_ids=tuple(own_ids),
            candidate_logits=tuple(own_logits),
            candidate_pieces=tuple([pieces[token] for token in own_ids]),
            processors=own_processors,
        )
        for values, chosen, own_ids, own_logits, own_processors in rows
    ]
    return _with_later(columns, tokens)


def generated(columns: TokenColumns, generation: int) -> list[tuple[int, bytes]]:
    """Only the id and bytes of each token of one generation; raises as from_columns does."""
    if not 0 <= columns.num_tokens <= MAX_EVENTS:
        raise ValueError("too many tokens")
    pieces = _pieces(columns)
    numbers = {index: values.get("generation", 0) for index, values in _later(columns)}
    ids = _integers(unpack(columns.fields["id"], columns.num_tokens))
    return [(token, pieces[token]) for index, token in enumerate(ids) if numbers.get(index, 0) == generation]


def _fields(columns: TokenColumns, ids: list[list[int]], logits: list[list[float]]) -> dict[str, list[Any]]:
    """The columns of single values, by name."""
    packed, num = columns.fields, columns.num_tokens
    fields = {name: _integers(unpack(packed[name], num), name in OPTIONAL) for name in INTEGERS}
    fields |= {name: list(map(bool, fields[name])) for name in ("is_special", "is_shown")}
    fields |= {name: _floats(unpack(packed[name], num), is_optional=True) for name in FLOATS[:-1]}
    expected = map(expected_logprob, fields["id"], ids, logits, fields["log_normalizer"])
    return fields | {"logprob": _floats(unpack(packed["logprob"], num, list(expected)), is_optional=True)}


def _integers(values: list[Any], is_optional: bool = False) -> list[Any]:
    """Check that all values are integers. Raises ValueError where they are something else."""
    if any(type(value) is not int and not (is_optional and value is None) for value in values):
        raise ValueError("a column of integers that holds something else")
    return values


def _floats(values: list[Any], is_optional: bool = False) -> list[Any]:
    """Convert the values to floats: a column of whole numbers has integers. Raises ValueError where one is missing."""
    if not is_optional and None in values:
        raise ValueError("a column with a gap")
    return [None if value is None else float(value) for value in values]


def _counts(column: Numbers, num: int, most: int) -> list[int]:
    """Each element's number of entries in another column. Raises ValueError when the sum is too large."""
    counts = _integers(unpack(column, num))
    if (counts and min(counts) < 0) or sum(counts) > most:
        raise ValueError("too many entries")
    return counts


def _runs(values: list[Any], counts: list[int]) -> Iterator[list[Any]]:
    rest = iter(values)
    return (list(islice(rest, count)) for count in counts)


def _pieces(columns: TokenColumns) -> dict[int, bytes]:
    """Pieces by id, in the order of the columns."""
    if not 0 <= columns.num_ids <= MAX_PIECES:
        raise ValueError("too many pieces")
    ids = _integers(unpack(columns.ids, columns.num_ids))
    sizes = _counts(columns.num_bytes, columns.num_ids, len(columns.pieces))
    if sum(sizes) != len(columns.pieces):
        raise ValueError("pieces of another length")
    runs = zip(ids, pairwise(accumulate(sizes, initial=0)), strict=True)
    return {token: columns.pieces[start:end] for token, (start, end) in runs}


def _candidates(columns: TokenColumns, ids: list[int], count: int) -> list[int]:
    once = iter(ids[columns.num_repeated :])
    return [ids[place - 1] if place else next(once) for place in _integers(unpack(columns.candidates, count))]


def _chains(
    columns: TokenColumns, logits: list[list[float]], log_normalizers: list[float | None]
) -> list[tuple[ProcessorEffect, ...] | None]:
    """Each token's processors."""
    kinds = _integers(unpack(columns.chain, columns.num_tokens), is_optional=True)
    if sum(len(columns.chains[kind]) for kind in kinds if kind is not None) > MAX_PROCESSORS:
        raise ValueError("too many processors")
    if len(columns.chains) > columns.num_tokens:
        raise ValueError("more chains than tokens")
    found: list[tuple[ProcessorEffect, ...] | None] = [None if kind is None else () for kind in kinds]
    members: list[list[int]] = [[] for _ in columns.chains]
    for index, kind in enumerate(kinds):
        if kind is not None and kind < 0:
            raise ValueError("a chain that is none")
        if kind is not None:
            members[kind].append(index)
    for places, processors in zip(members, columns.chains, strict=True):
        before = [log_normalizers[index] for index in places]
        for packed in processors:
            own = _processor(packed, [logits[index] for index in places], before)
            before = [processor.log_normalizer for processor in own]
            for index, processor in zip(places, own, strict=True):
                found[index] = (*(found[index] or ()), processor)
    return found


def _processor(packed: ProcessorColumns, raw: list[list[float]], before: list[float | None]) -> list[ProcessorEffect]:
    """One processor of each token. raw: the logits of the tokens' candidates."""
    if packed.name not in get_args(ProcessorName):
        raise ValueError("a processor of an unknown name")
    num = len(raw)
    num_masked = _counts(packed.num_masked, num, MAX_CANDIDATES)
    rows = zip(
        _integers(unpack(packed.num_candidates, num)),
        _floats(unpack(packed.mass, num)),
        _floats(unpack(packed.log_normalizer, num, before)),
        _integers(unpack(packed.first, num)),
        _processor_logits(packed, raw),
        _runs(_integers(unpack(packed.masked, sum(num_masked))), num_masked),
        strict=True,
    )
    return [
        ProcessorEffect(
            name=packed.name,  # type: ignore[arg-type]
            num_candidates=num_candidates,
            mass=mass,
            log_normalizer=log_normalizer,
            first=first,
            logits=logits,
            masked=tuple(masked),
        )
        for num_candidates, mass, log_normalizer, first, logits, masked in rows
    ]


def _processor_logits(packed: ProcessorColumns, raw: list[list[float]]) -> list[tuple[float, ...] | None]:
    counts = _integers(unpack(packed.num_logits, len(raw)), is_optional=True)
    sizes = [count or 0 for count in counts]
    if any(size < 0 for size in sizes) or sum(sizes) > MAX_CANDIDATES:
        raise ValueError("too many entries")
    base = [logit for own, size in zip(raw, sizes, strict=True) for logit in own[:size]]
    runs = _runs(_floats(unpack(packed.logits, sum(sizes), base)), sizes)
    return [None if count is None else tuple(run) for count, run in zip(counts, runs, strict=True)]


def _later(columns: TokenColumns) -> list[tuple[int, dict[str, Any]]]:
    """Tokens' places with their fields that were added after this form."""
    if len(columns.later) > 2 + _MOST_LATER_BYTES * columns.num_tokens:
        raise ValueError("too many later fields")
    return msgspec.json.decode(columns.later, type=list[tuple[int, dict[str, Any]]])


def _with_later(columns: TokenColumns, tokens: list[TokenSampled]) -> list[TokenSampled]:
    hints = get_type_hints(TokenSampled)
    for index, values in _later(columns):
        known = {name: msgspec.convert(values[name], hints[name]) for name in values if name in LATER}
        tokens[index] = msgspec.structs.replace(tokens[index], **known)
    return tokens
