"""The page shell, the session, the browser's tokenizer, and health."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie

from inference.protocol.request import MAX_MESSAGE_BYTES
from inference.tokenization.gguf_metadata import TokenizerError
from inference.tokenization.template_process import TemplateError
from webapp.api.view import api
from webapp.chat.models import MAX_ANSWERS, Conversation
from webapp.gateway.errors import not_found, user_id
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.workers import workers as list_workers
from webapp.reruns.models import Rerun

VERSION = tomllib.loads((Path(settings.BASE_DIR) / "pyproject.toml").read_text("utf-8"))["project"]["version"]
EXHIBITS = {
    "attention",
    "batching",
    "cache",
    "context",
    "economics",
    "gate",
    "guessing",
    "loop",
    "merges",
    "prefill",
    "rules",
    "safety",
    "sampling",
    "streaming",
    "tokenizer",
}
"""The pages below /learn (frontend/src/learn/exhibits.ts)."""
_MANIFEST = Path(settings.BASE_DIR) / "webapp" / "static" / "app" / ".vite" / "manifest.json"


@login_required
@ensure_csrf_cookie
def shell(request: HttpRequest, **ids: str) -> HttpResponse:
    """The front end's single page, which routes by address. 404 where the user has nothing at this address."""
    entry = _entry()
    if entry is None:
        return render(request, "unbuilt.html", status=503)
    context = {"script": entry["file"], "styles": entry.get("css", [])}
    return render(request, "shell.html", context, status=200 if _is_there(user_id(request), **ids) else 404)


def _is_there(
    owner: int,
    conversation_id: str | None = None,
    request_id: str | None = None,
    rerun_id: str | None = None,
    exhibit: str | None = None,
) -> bool:
    if exhibit is not None:
        return exhibit in EXHIBITS
    if rerun_id is not None:
        return Rerun.objects.filter(pk=rerun_id, user_id=owner).exists()
    if conversation_id is not None:
        return Conversation.objects.filter(pk=conversation_id, user_id=owner).exists()
    return request_id is None or Request.objects.filter(pk=request_id, user_id=owner).exists()


@cache
def _entry() -> dict[str, Any] | None:
    if not _MANIFEST.is_file():
        return None
    entry: dict[str, Any] = json.loads(_MANIFEST.read_text("utf-8"))["src/main.ts"]
    return entry


@api("GET")
def session(request: HttpRequest) -> HttpResponse:
    user = request.user
    environment = settings.ENVIRONMENT
    workers = list_workers() or []
    model = {
        "id": environment.model_name,
        "name": environment.model_name,
        "window": _window(),
        "tokenizer_url": _tokenizer_url(environment.model_name),
        "is_ready": any(worker["state"] == "ready" for worker in workers),
        **msgspec.to_builtins(services.model_entry()),
    }
    return JsonResponse(
        {
            "user": {"id": user.pk, "name": user.get_username(), "is_staff": getattr(user, "is_staff", False)},
            "models": [model],
            "default_model": environment.model_name,
            "limits": {"message_bytes": MAX_MESSAGE_BYTES, "num_answers": MAX_ANSWERS},
            "has_otlp_endpoint": environment.otlp is not None,
            "workers": workers,
            "version": VERSION,
        }
    )


def _tokenizer_url(model: str) -> str:
    """The tokenizer's address with its current version; without one if the model's files cannot be read."""
    address = f"/api/models/{model}/tokenizer.json"
    try:
        return f"{address}?v={services.prompt_services().tokenizer.version}"
    except (TokenizerError, TemplateError):
        return address


def _window() -> int | None:
    try:
        return services.prompt_services().window
    except (TokenizerError, TemplateError):
        return None


@api("GET")
def tokenizer(request: HttpRequest, model: str) -> HttpResponse:
    if model != settings.ENVIRONMENT.model_name:
        raise not_found("model")
    built = services.prompt_services().tokenizer
    etag = f'"{built.version}"'
    if etag in request.headers.get("If-None-Match", ""):
        response = HttpResponse(status=304)
    else:
        response = HttpResponse(built.to_json(), content_type="application/json")
    response["ETag"] = etag
    # The address that the session names has the content's hash: its content never changes.
    is_this = request.GET.get("v") == built.version
    response["Cache-Control"] = "private, max-age=31536000, immutable" if is_this else "private, no-cache"
    return response


def healthz(_request: HttpRequest) -> HttpResponse:
    """200 as long as the web process answers."""
    return JsonResponse({"status": "ok"})


def readyz(_request: HttpRequest) -> HttpResponse:
    """200 when the database, the queue and a worker with a loaded model are available; else 503."""
    workers = list_workers()
    checks = {
        "database": _is_database_up(),
        "redis": workers is not None,
        "worker": any(worker["state"] == "ready" for worker in workers or ()),
    }
    is_ready = all(checks.values())
    body = {"status": "ready" if is_ready else "not ready", "checks": checks, "workers": workers or []}
    return JsonResponse(body, status=200 if is_ready else 503)


def _is_database_up() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True
