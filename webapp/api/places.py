"""Places of requests: each one's answer index, or its run index in a set, and its seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from webapp.chat.models import Message
from webapp.requests.models import Request
from webapp.reruns.models import Rerun


def places(found: Sequence[Request]) -> dict[str, dict[str, Any]]:
    """Return `conversation_id`, `message_id`, `answer`, `rerun_id`, `run` and `seed` by request id.

    A value is null where there is none, or none any more since the request was found. `answer` is {"index", "num"}
    among the answers to the same message, from 0. `run` is {"index", "num", "settings"}: `num` counts deleted runs
    too, and `settings` come from the set's grid.
    """
    answers, runs = _answers(found), _runs(found)
    ids = [each.pk for each in found]
    seeds = dict(Request.objects.filter(pk__in=ids).values_list("pk", "params__seed"))
    nothing = dict.fromkeys(("conversation_id", "message_id", "answer", "rerun_id", "run"))
    return {pk: nothing | answers.get(pk, {}) | runs.get(pk, {}) | {"seed": seeds.get(pk)} for pk in ids}


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
            "answer": {"index": beside.index(message.pk), "num": len(beside)},
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
            "run": {"index": run.index, "num": sets[run.rerun_id].num_planned, "settings": run.settings},
        }
        for run in runs
        if run.rerun_id in sets
    }
