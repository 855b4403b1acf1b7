"""Saved traces in the database: save, load, delete. Knows nothing of HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from django.db import transaction
from django.db.models import Q

from inference.eventlog.clock import unix_us
from inference.protocol.events import ClientTiming, Frame, RequestObserved
from webapp.ground.context.turns import new_text
from webapp.requests import services
from webapp.requests.input import NoInput
from webapp.requests.models import Request
from webapp.requests.summary import about
from webapp.traces.file.archive import Packing, decode
from webapp.traces.models import Entry, Trace
from webapp.traces.previous_turn import strip_previous_turn_texts

_SEARCH_CHARS = 20_000
_AT_ONCE = 100
"""Traces in one statement."""


def save(request: Request, frames: Sequence[Frame], packing: Packing | None = None) -> None:
    """Save a settled request's events, without texts of any other request. Replaces an earlier save.

    packing: the packing of these frames' tokens, if they were packed before; it is used up.
    """
    save_packed(request, pack(request, frames, packing))


def pack(request: Request, frames: Sequence[Frame], packing: Packing | None = None) -> bytes:
    """Encode the trace for `save_packed`, which takes a while; the request need not be in the database yet."""
    if packing is None or not packing.has_tokens_of(frames):
        packing = Packing(frames)
    return packing.finish(strip_previous_turn_texts(frames), about(request))


def save_packed(request: Request, blob: bytes) -> None:
    """Save the result of `pack`, and the search text."""
    Trace.objects.update_or_create(request=request, defaults={"blob": blob})
    Entry.objects.update_or_create(trace_id=request.pk, defaults={"search_text": _search_text(request)})


def save_all_packed(packed: Sequence[tuple[Request, bytes]]) -> None:
    """Save results of `pack` of requests that have no trace yet."""
    Trace.objects.bulk_create((Trace(request=request, blob=blob) for request, blob in packed), _AT_ONCE)
    entries = (Entry(trace_id=request.pk, search_text=_search_text(request)) for request, _ in packed)
    Entry.objects.bulk_create(entries, _AT_ONCE)


def _search_text(request: Request) -> str:
    return f"{request.title}\n{new_text(request.input.messages)}\n{request.output_text}"[:_SEARCH_CHARS]


class Edition(NamedTuple):
    """A trace as it is saved now: another edition may have other events."""

    request_id: str
    saved_at: datetime
    is_observed: bool
    """The browser's own timing is there."""


def edition_of(request_id: str) -> Edition | None:
    """Return the edition of the saved trace; None when there is none."""
    found = Trace.objects.filter(pk=request_id).values_list("saved_at", "observed__isnull").first()
    return found and Edition(request_id, found[0], not found[1])


def load_frames(request_id: str) -> list[Frame]:
    """Return the saved frames, the browser's own timing last; empty when there is no trace."""
    trace = Trace.objects.filter(pk=request_id).first()
    if trace is None:
        return []
    frames = decode(bytes(trace.blob)).frames
    if trace.observed is not None:
        event = msgspec.convert(trace.observed, RequestObserved)
        frames.append(Frame(seq=frames[-1].last_seq + 1, events=(event,)))
    return frames


def add_observed(request: Request, client: ClientTiming) -> bool:
    """Save the browser's own timing of a settled request; False when it exists already or there is no trace."""
    event = RequestObserved(at=unix_us() - request.accepted_unix_us, client=client)
    unobserved = Trace.objects.filter(pk=request.pk, observed__isnull=True, request__is_imported=False)
    return bool(unobserved.update(observed=msgspec.to_builtins(event)))


def delete(request: Request) -> None:
    """Delete the trace of a settled request with its agents, and the texts kept for it.

    An answer or a summary stays in its chat.

    The bill and the usage are in the ledger, and stay.
    """
    request_id = request.pk
    with transaction.atomic():
        request.agents.filter(finished_at=None).update(agent_of=None)  # each ends first, and posts its bill
        for agent in request.agents.all():
            delete(agent)
        if hasattr(request, "message") or hasattr(request, "summary"):
            Trace.objects.filter(pk=request_id).delete()
            Request.objects.filter(pk=request_id).update(input=NoInput())
        else:
            request.delete()
        transaction.on_commit(lambda: services.event_log().forget(request_id), robust=True)


def delete_untraced(conversation_id: str) -> None:
    """Delete a conversation's settled requests without a trace, before it is deleted: nothing would show them then."""
    answers = Request.objects.filter(
        Q(message__conversation=conversation_id) | Q(summary__conversation=conversation_id)
    )
    answers.filter(finished_at__isnull=False, trace=None).delete()


def conversation_of(request_id: str) -> str | None:
    """Id of the conversation that the request's answer is in; None: it is in none."""
    found = Request.objects.filter(pk=request_id).values_list("message__conversation_id", flat=True)
    return found.first()
