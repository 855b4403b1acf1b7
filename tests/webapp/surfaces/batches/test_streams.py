"""Results and files are read piece by piece, as the client takes them: nothing is read ahead."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone

from webapp.surfaces.batches.files import AT_ONCE, PIECE_CHARS, pieces_of, results_of
from webapp.surfaces.batches.models import Batch, Line, StoredFile

pytestmark = pytest.mark.django_db(transaction=True)
NUM_LINES = 3 * AT_ONCE + 1


@pytest.fixture
def batch() -> Batch:
    user = User.objects.create(username="alice")
    made = Batch.objects.create(id="batch_1", user=user, family="openai", expires_at=timezone.now(), status="completed")
    Line.objects.bulk_create(
        Line(batch=made, index=n, custom_id=f"n{n}", status="succeeded", answer="old") for n in range(NUM_LINES)
    )
    return made


def taken(pieces: AsyncGenerator[bytes], rows: QuerySet[Any], **change: str) -> list[bytes]:
    """All pieces, where the rows change after the first one was taken."""

    async def take() -> list[bytes]:
        found = [await anext(pieces)]
        await sync_to_async(rows.update, thread_sensitive=False)(**change)
        return found + [piece async for piece in pieces]

    return async_to_sync(take)()


def test_results_are_read_a_few_lines_at_a_time(batch: Batch) -> None:
    pieces = taken(results_of(batch), batch.lines.all(), answer="new")
    assert [piece.count(b"\n") for piece in pieces] == [AT_ONCE, AT_ONCE, AT_ONCE, 1]
    assert b"".join(pieces) == b"old\n" * AT_ONCE + b"new\n" * (NUM_LINES - AT_ONCE)


def test_a_result_file_is_read_a_few_lines_at_a_time(batch: Batch) -> None:
    file = StoredFile.objects.create(user=batch.user, name="a", batch=batch, part="output", num_bytes=0)
    pieces = taken(pieces_of(file), batch.lines.all(), answer="new")
    assert b"".join(pieces) == b"old\n" * AT_ONCE + b"new\n" * (NUM_LINES - AT_ONCE)


def test_a_sent_file_is_read_in_parts(batch: Batch) -> None:
    file = StoredFile.objects.create(user=batch.user, name="a", content="é" * (2 * PIECE_CHARS + 5), num_bytes=0)
    stored = StoredFile.objects.filter(pk=file.pk)
    pieces = taken(pieces_of(file), stored, content="x" * (2 * PIECE_CHARS + 5))
    assert [len(piece.decode()) for piece in pieces] == [PIECE_CHARS, PIECE_CHARS, 5]
    assert [set(piece.decode()) for piece in pieces] == [{"é"}, {"x"}, {"x"}]
