"""Places of requests: each one's answer index, or its run index in a set, and its seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from webapp.ground.gateway.structs import Result
from webapp.requests.models import Request
from webapp.requests.summary import RequestSummary, summary_fields
from webapp.surfaces.chat.models import Message
from webapp.surfaces.runs.models import Rerun


class AnswerPlace(Result):
    """A request's place among the answers to one message."""

    index: int
    """From 0."""
    num: int


class RunPlace(Result):
    """A request's place among the runs of a set."""

    index: int
    """From 0."""
    num: int
    """Deleted runs count too."""
    settings: dict[str, float]
    """The values that the set's grid gave it."""


class PlacedRequest(RequestSummary):
    """A request with its place in a chat or in a set of runs. A place is null where there is none, or none any more."""

    conversation_id: str | None
    message_id: str | None
    answer: AnswerPlace | None
    rerun_id: str | None
    """The set of runs that it belongs to."""
    run: RunPlace | None
    seed: int | None
    """Null: not known, as of an imported trace."""
    batch_id: str | None
    """The batch of which it answers a line."""


def placed(request: Request) -> PlacedRequest:
    """Return the request's summary with its place."""
    return PlacedRequest(**summary_fields(request), **places([request])[request.pk])


def places(found: Sequence[Request]) -> dict[str, dict[str, Any]]:
    """Return the fields that PlacedRequest adds, by request id."""
    answers, runs = _answers(found), _runs(found)
    ids = [each.pk for each in found]
    rows = Request.objects.filter(pk__in=ids).values_list("pk", "params__seed", "batch_id")
    own = {pk: {"seed": seed, "batch_id": batch_id} for pk, seed, batch_id in rows}
    nothing = dict.fromkeys(("conversation_id", "message_id", "answer", "rerun_id", "run"))
    unknown = {"seed": None, "batch_id": None}
    return {pk: nothing | answers.get(pk, {}) | runs.get(pk, {}) | own.get(pk, unknown) for pk in ids}


def _answers(found: Iterable[Request]) -> dict[str, dict[str, Any]]:
    messages = [message for each in found if (message := getattr(each, "message", None)) is not None]
    siblings = defaultdict[str, list[str]](list)
    asked = Message.objects.filter(parent_id__in={message.parent_id for message in messages}, role="assistant")
    for parent_id, pk in asked.order_by("created_at").values_list("parent_id", "pk"):
        siblings[parent_id].append(pk)
    return {
        message.request_id: {
            "conversation_id": message.conversation_id,
            "message_id": message.pk,
            "answer": AnswerPlace(index=beside.index(message.pk), num=len(beside)),
        }
        for message in messages
        if message.pk in (beside := siblings[message.parent_id])
    }


def _runs(found: Iterable[Request]) -> dict[str, dict[str, Any]]:
    runs = [run for each in found if (run := getattr(each, "run", None)) is not None]
    sets = Rerun.objects.filter(pk__in={run.rerun_id for run in runs}).only("n", "grid").in_bulk()
    return {
        run.request_id: {
            "rerun_id": run.rerun_id,
            "run": RunPlace(index=run.index, num=sets[run.rerun_id].num_planned, settings=run.settings),
        }
        for run in runs
        if run.rerun_id in sets
    }
