"""The page shell, the session and the browser's tokenizer."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from inference.protocol.request import MAX_MESSAGE_BYTES, SamplingParams
from webapp.api.operators import signed_in_user
from webapp.api.usage.usage import PERMISSION as USAGE
from webapp.ground.gateway.errors import not_found, user_id
from webapp.ground.gateway.page import built
from webapp.ground.gateway.structs import Query, Result
from webapp.identity.accounts.roles import is_views_only, role_of
from webapp.models.billing.naming import model_names
from webapp.models.registry.models import RegisteredModel
from webapp.models.registry.offered import EMBEDDING_MODEL, default_id, enabled, is_offered
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.workers import WorkerStatus
from webapp.requests.workers import workers as list_workers
from webapp.surfaces.chat.models import MAX_ANSWERS, Conversation
from webapp.surfaces.runs.models import Rerun
from webapp.traces.recordings.models import Recording

VERSION = tomllib.loads((Path(settings.BASE_DIR) / "pyproject.toml").read_text("utf-8"))["project"]["version"]
EXHIBITS = {
    "attention",
    "batching",
    "cache",
    "context",
    "economics",
    "gateway",
    "guessing",
    "injection",
    "loop",
    "merges",
    "prefill",
    "retrieval",
    "rules",
    "safety",
    "sampling",
    "streaming",
    "tokenizer",
    "tools",
}
"""The pages below /learn (frontend/src/learn/exhibits.ts)."""


@require_safe
@login_required
@ensure_csrf_cookie
def shell(request: HttpRequest, **ids: Any) -> HttpResponse:
    """The front end's single page, which routes by address. 404 where the user has nothing at this address."""
    page = built("src/main.ts")
    if page is None:
        return render(request, "unbuilt.html", status=503)
    return render(request, "shell.html", page, status=200 if _is_there(user_id(request), **ids) else 404)


def desk_page(permission: str) -> Callable[..., HttpResponse]:
    """A page of the desk (frontend/src/desk/pages.ts). Staff without its permission get the admin's tables."""

    @require_safe
    @ensure_csrf_cookie
    def page(request: HttpRequest, **_ids: object) -> HttpResponse:
        return shell(request) if signed_in_user(request).has_perm(permission) else redirect("admin:index")

    return admin.site.admin_view(page)


def _is_there(
    owner: int,
    conversation_id: str | None = None,
    request_id: str | None = None,
    rerun_id: str | None = None,
    exhibit: str | None = None,
    group_id: int | None = None,
    recording_id: int | None = None,
) -> bool:
    if recording_id is not None:
        return Recording.objects.filter(pk=recording_id, user_id=owner).exists()
    if group_id is not None:
        return role_of(owner, group_id) is not None
    if exhibit is not None:
        return exhibit in EXHIBITS
    if rerun_id is not None:
        return Rerun.objects.filter(pk=rerun_id, user_id=owner).exists()
    if conversation_id is not None:
        return Conversation.objects.filter(pk=conversation_id, user_id=owner).exists()
    return request_id is None or Request.objects.filter(pk=request_id, user_id=owner).exists()


class SignedIn(Result):
    """The signed-in user."""

    id: int
    name: str
    is_staff: bool
    is_superuser: bool
    permissions: list[str]
    """Names such as usage.view_usagerecord, which open an operator's pages."""
    views_only: bool
    """The user is a viewer in each of the own groups, and begins no work."""


class Model(Result):
    """A model that is offered, and the settings of a new conversation with it."""

    id: str
    name: str
    """Shown to users: an operator's name for the model, or its id."""
    window: int | None
    """Tokens of prompt and answer together; null: the model's files cannot be read."""
    tokenizer_url: str
    is_ready: bool
    """One of its workers has loaded it."""
    default_params: SamplingParams
    default_system_prompt: str
    """Empty: the model's own template decides."""
    num_params: int | None
    """Null: not known."""
    has_vision: bool
    """It reads pictures."""
    thinks: bool
    """The model may think before its answer, by its own chat template."""
    tokenizer_version: str | None
    """Models with the same one read the same token ids. Null: the model's files cannot be read."""


class SessionLimits(Result):
    """Limits that a page checks before it sends."""

    message_bytes: int
    num_answers: int


class Session(Result):
    """The facts that a page needs before anything else."""

    user: SignedIn
    models: list[Model]
    default_model: str
    embedding_model: str
    """Embeds texts, and answers no message."""
    model_names: dict[str, str]
    """Shown name by a model's id. A model without one is shown by its id."""
    limits: SessionLimits
    has_otlp_endpoint: bool
    """The operator has set an address for exported traces."""
    workers: list[WorkerStatus]
    version: str


def show_session(request: HttpRequest) -> Session:
    """Show the signed-in user, the models and the workers."""
    user = signed_in_user(request)
    workers = _as_told_to(user, list_workers() or [])
    names = model_names()
    ready = {worker.model for worker in workers if worker.state == "ready"}
    return Session(
        user=_signed_in(user),
        models=[_model(row, names, ready) for row in enabled()],
        default_model=default_id(),
        embedding_model=EMBEDDING_MODEL,
        model_names=names,
        limits=SessionLimits(message_bytes=MAX_MESSAGE_BYTES, num_answers=MAX_ANSWERS),
        has_otlp_endpoint=settings.ENVIRONMENT.otlp is not None,
        workers=workers,
        version=VERSION,
    )


def _model(row: RegisteredModel, names: dict[str, str], ready: set[str]) -> Model:
    """names: those that operators gave. ready: the models that a worker has loaded."""
    entry, loaded = services.model_entry(row), services.services_of(row)
    address = f"/api/models/{row.pk}/tokenizer.json"
    return Model(
        id=row.pk,
        name=names.get(row.pk, row.pk),
        window=loaded.window if loaded else None,
        tokenizer_url=f"{address}?v={loaded.tokenizer.version}" if loaded else address,
        is_ready=row.pk in ready,
        default_params=entry.default_params,
        default_system_prompt=entry.default_system_prompt,
        num_params=entry.num_params,
        has_vision=row.has_vision,
        thinks=loaded is not None and loaded.tokenizer.thinking is not None,
        tokenizer_version=loaded.tokenizer.version if loaded else None,
    )


def _as_told_to(user: User, workers: list[WorkerStatus]) -> list[WorkerStatus]:
    """The cause of a failure may name files of the server, so only operators read it."""
    if not any(worker.message for worker in workers) or user.has_perm(USAGE):
        return workers
    return [msgspec.structs.replace(worker, message="") for worker in workers]


def _signed_in(user: User) -> SignedIn:
    return SignedIn(
        id=user.pk,
        name=user.get_username(),
        is_staff=user.is_staff,
        is_superuser=user.is_superuser,
        permissions=sorted(user.get_all_permissions()),
        views_only=is_views_only(user.pk),
    )


class TokenizerQuery(Query):
    """The version of the tokenizer."""

    v: str = ""
    """Hash of the tokenizer, as the session's address names it. With it the answer may be kept for good."""


def show_tokenizer(request: HttpRequest, model: str, query: TokenizerQuery) -> HttpResponse:
    """The model's tokenizer for the browser. Its `ETag` is its hash."""
    if not is_offered(model):
        raise not_found("model")
    built = services.prompt_services(model).tokenizer
    etag = f'"{built.version}"'
    if etag in request.headers.get("If-None-Match", ""):
        response = HttpResponse(status=304)
    else:
        response = HttpResponse(built.to_json(), content_type="application/json")
    response["ETag"] = etag
    # The address that the session names has the content's hash: its content never changes.
    is_this = query.v == built.version
    response["Cache-Control"] = "private, max-age=31536000, immutable" if is_this else "private, no-cache"
    return response
