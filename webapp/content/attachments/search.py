"""Searches all read files of one user by meaning. Knows nothing of conversations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice

from django.db.models import QuerySet

from inference.safety.minilm import Floats
from webapp.content.attachments.embedding import as_vectors, embedded_message
from webapp.content.attachments.models import Attachment, Passage

_AT_ONCE = 2000
"""Vectors in memory at once: 3 MB."""


@dataclass(frozen=True, order=True)
class _Scored:
    """A passage by its similarity; of equals the newest is the greatest."""

    similarity: float
    pk: int


@dataclass(frozen=True)
class Similar:
    """A passage and its similarity to the text that was searched for, -1 to 1."""

    passage: Passage
    text: str
    similarity: float


def passages_like(user_id: int, query: str, num: int) -> list[Similar]:
    """The passages of the user's files that are most like the query, the most similar first.

    Raises PolicyError, SafetyModelError.
    """
    own = _own(user_id)
    if not own.exists():
        return []
    best = nlargest(num, _scored(own, embedded_message(query)))
    rows = own.select_related("attachment").in_bulk([each.pk for each in best])
    return [_similar(rows[each.pk], each.similarity) for each in best if each.pk in rows]


def _own(user_id: int) -> QuerySet[Passage]:
    return Passage.objects.filter(attachment__user_id=user_id, attachment__status=Attachment.Status.READY)


def _scored(own: QuerySet[Passage], vector: Floats) -> Iterator[_Scored]:
    rows = own.order_by().values_list("pk", "vector").iterator(_AT_ONCE)
    while few := list(islice(rows, _AT_ONCE)):
        similarities = (as_vectors([bytes(each) for _, each in few]) @ vector).tolist()
        yield from (_Scored(similarity, pk) for similarity, (pk, _) in zip(similarities, few, strict=True))


def _similar(row: Passage, similarity: float) -> Similar:
    return Similar(row, row.attachment.text[row.start : row.end].strip(), round(similarity, 4))
