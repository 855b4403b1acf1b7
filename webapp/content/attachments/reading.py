"""The reading of one file: its text, its safety, its passages, their embeddings. Knows nothing of queues and HTTP."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from django.db import transaction
from django.utils import timezone

from inference.sandbox.sandbox import SandboxError
from inference.tokenization.gguf_metadata import TokenizerError
from inference.tokenization.template_process import TemplateError
from webapp.content.attachments.bounded_extraction import Extracted, bounded_extraction
from webapp.content.attachments.embedding import counts, embedded
from webapp.content.attachments.extraction.unreadable import Unreadable
from webapp.content.attachments.models import Attachment, Content, Passage
from webapp.content.attachments.passages import Span, cut
from webapp.requests import services

logger = logging.getLogger(__name__)

_CHECKED_CHARS = 20_000
"""Characters of one safety check, which embeds its most suspicious sentences alone."""
_EXTRACTED, _CHECKED = 15, 25
"""Percent of the reading after which the text is there, and is checked. The embeddings take the rest."""
_AT_ONCE = 200
"""Passages saved in one statement."""
_BROKEN = "The file could not be read; the server's log has the details. Attach it again."


class _GivenUp(Exception):
    """Another attempt reads the file, or it was deleted."""


class Reading:
    """One attempt to read a file."""

    def __init__(self, attachment_id: str, attempt: int) -> None:
        self._id = attachment_id
        self._own = Attachment.objects.filter(pk=attachment_id, attempt=attempt, status=Attachment.Status.READING)

    def run(self) -> None:
        """Read the file, or refuse it in words."""
        try:
            self._read()
        except _GivenUp:
            logger.info("gave up reading %s: it is read elsewhere, or deleted", self._id)
        except Unreadable as refused:
            self._refuse(str(refused))
        except SandboxError as error:
            logger.warning("reading %s failed: %s", self._id, error)
            self._refuse(_BROKEN)
        except Exception:
            logger.exception("reading %s failed", self._id)
            self._refuse(_BROKEN)

    def _read(self) -> None:
        found = self._own.select_related("content").first()
        if found is None:
            raise _GivenUp
        extracted = bounded_extraction().extract(found.name, bytes(found.content.data), self._told_extracted)
        flagged_as = self._flagged_as(f"{found.name}\n\n{extracted.text}", found.user_id)
        spans = cut(extracted.text, counts)
        texts = [extracted.text[span.start : span.end] for span in spans]
        self._save(found, extracted, flagged_as, spans, list(self._vectors(texts)))

    def _told_extracted(self, share: float) -> None:
        self._tell(round(share * _EXTRACTED))

    def _flagged_as(self, text: str, user_id: int) -> list[str]:
        """Check the text as the result of a tool is checked, and return the categories that are flagged.

        Raises Unreadable where the policy blocks it.
        """
        found = set[str]()
        for start in range(0, len(text), _CHECKED_CHARS):
            check = services.guard(user_id).check(text[start : start + _CHECKED_CHARS], "tool_result")
            if check.verdict == "block":
                raise Unreadable(f"The safety policy blocks this file: {check.replacement or check.category}")
            found |= {score.category for score in check.scores if score.verdict in ("flag", "rewrite")}
            self._tell(_EXTRACTED + round((_CHECKED - _EXTRACTED) * start / len(text)))
        return sorted(found)

    def _vectors(self, texts: Sequence[str]) -> Iterator[bytes]:
        num = 0
        for vectors in embedded(texts):
            yield from (vector.tobytes() for vector in vectors)
            num += len(vectors)
            self._tell(_CHECKED + round((100 - _CHECKED) * num / len(texts)))

    def _tell(self, percent: int) -> None:
        """Write how far it is. Raises _GivenUp."""
        if not self._own.update(percent=percent, touched_at=timezone.now()):
            raise _GivenUp

    def _save(
        self,
        found: Attachment,
        extracted: Extracted,
        flagged_as: list[str],
        spans: Sequence[Span],
        vectors: Sequence[bytes],
    ) -> None:
        num_tokens = _num_tokens(found.model, extracted.text)
        rows = (
            Passage(
                attachment=found,
                number=number,
                start=span.start,
                end=span.end,
                vector=vector,
            )
            for number, (span, vector) in enumerate(zip(spans, vectors, strict=True), start=1)
        )
        with transaction.atomic():
            is_own = self._own.update(
                text=extracted.text,
                media_type=extracted.media_type,
                num_tokens=num_tokens,
                num_passages=len(spans),
                is_flagged=bool(flagged_as),
                flagged_as=flagged_as,
                percent=100,
                status=Attachment.Status.READY,
            )
            if not is_own:
                raise _GivenUp
            Passage.objects.bulk_create(rows, _AT_ONCE)
            Content.objects.filter(pk=self._id).delete()

    def _refuse(self, reason: str) -> None:
        with transaction.atomic():
            if self._own.update(status=Attachment.Status.REFUSED, reason=reason[:500]):
                Content.objects.filter(pk=self._id).delete()


def _num_tokens(model: str, text: str) -> int | None:
    """The text's tokens for a model; None: its tokenizer cannot be used now."""
    try:
        return services.prompt_services(model).tokenizer.num_tokens(text)
    except (TokenizerError, TemplateError):
        return None
