"""Operations of the exhibits on what enters a prompt from outside: notes, documents, results of tools."""

from __future__ import annotations

import msgspec
from django.http import HttpRequest

from inference.safety.minilm import SafetyModelError
from webapp.api.requests.waiting import Waiting
from webapp.api.surfaces.learn_asking import asked, count
from webapp.ground.gateway.answer import Answer
from webapp.ground.gateway.body import checked_text
from webapp.ground.gateway.errors import ApiError, user_id
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body
from webapp.lifecycle.probes.job import WorkerJob
from webapp.models.registry.offered import default_id
from webapp.requests import services
from webapp.surfaces.learn import injection, retrieval
from webapp.surfaces.learn.injection import InjectionSeen
from webapp.surfaces.learn.retrieval import Ranking, RetrievalBody
from webapp.surfaces.learn.tasks import check_key


class InjectionBody(Body):
    """A text from outside: a document, or the result of a tool."""

    text: str


@answers(200, 202)
def check_injection(request: HttpRequest, body: InjectionBody) -> Answer[InjectionSeen | Waiting]:
    """Show a text of 600 characters at most as each safety layer sees it. 202: ask again."""
    text = _short(body.text, injection.MAX_CHARS, "text", "text")
    payload = msgspec.json.encode({"user": user_id(request), "outside": text}).decode()
    return asked(WorkerJob(check_key(payload), "learn.injection", "prepare"), payload, user_id(request))


def rank_notes(request: HttpRequest, body: RetrievalBody) -> Ranking:
    """Rank notes by their similarity to a question. 10 notes of 300 characters at most. Nothing is saved."""
    if not 1 <= len(body.notes) <= retrieval.MAX_NOTES:
        raise ApiError(400, "invalid", f"Give 1 to {retrieval.MAX_NOTES} notes.", "notes")
    question = _short(body.question, retrieval.MAX_CHARS, "question", "question")
    notes = [_short(note, retrieval.MAX_CHARS, "note", f"notes[{index}]") for index, note in enumerate(body.notes)]
    count(user_id(request))
    try:
        return retrieval.ranked(question, notes, services.prompt_services(default_id()).tokenizer)
    except SafetyModelError as error:
        raise ApiError(503, "model_unavailable", f"{error}") from None


def _short(text: str, most: int, subject: str, field: str) -> str:
    """The text, checked. Raises ApiError."""
    if len(text) > most:
        message = f"The {subject} has {len(text):,} characters; this page takes at most {most}. Shorten it."
        raise ApiError(400, "invalid", message, field)
    return checked_text(text, subject, field)
