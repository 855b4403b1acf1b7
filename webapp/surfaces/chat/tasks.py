"""The chat's own task: looks whether a conversation's branch has become long. Knows nothing of how it is shortened."""

from __future__ import annotations

from typing import Any

from webapp.celery import app
from webapp.requests.models import Request
from webapp.surfaces.chat.automatic import compact_if_full
from webapp.surfaces.chat.models import Message, WindowPolicy


def on_settled(request: Request, **_: Any) -> None:
    """Receiver of `settled`: look at the branch of an answer, where its conversation summarises."""
    answers = Message.objects.filter(request=request, conversation__window_policy=WindowPolicy.SUMMARISE)
    if (answer_id := answers.values_list("pk", flat=True).first()) is not None:
        app.send_task("chat.compact", args=[answer_id])


@app.task(name="chat.compact")
def compact_task(answer_id: str) -> None:
    compact_if_full(answer_id)
