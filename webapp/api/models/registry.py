"""Operations on the registry of models, for operators. A server's key comes in here, and in no answer out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Literal

from django.conf import settings
from django.db.models import Count
from django.http import HttpRequest

from webapp.api.operators import checked_operator
from webapp.ground.gateway.errors import ApiError, all_of, not_found, user_id
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Result
from webapp.models.billing.naming import model_names
from webapp.models.registry import change, models
from webapp.models.registry.change import CannotChange, Change, ModelExists
from webapp.models.registry.source_checks import BadField, BadFields, Place
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.workers import drain_all, heartbeats
from webapp.surfaces.chat.models import Conversation

PERMISSION = "registry.change_registeredmodel"
Kind = Literal["gguf", "safetensors", "remote"]
State = Literal["checking", "failed", "enabled", "drained", "retired"]


class NewModel(Body):
    """A model to add."""

    id: str
    """At most 100 characters: a-z, 0-9, dots, underscores and hyphens."""
    kind: Kind
    path: str
    """A GGUF file or a folder with safetensors on the server. Of a remote model: the same model's, for its tokenizer
    and template."""
    url: str = ""
    """Address of the remote server, such as http://host:8080."""
    key: str = ""
    """The remote server's key. No answer has it."""
    num_workers: int = 1
    """1 to 8."""
    has_vision: bool = False
    """A remote model's server takes pictures."""


class ModelChange(Body):
    """The fields to change; a field that is left out stays. Another path, address or key is checked first."""

    state: Literal["enabled", "drained", "retired"] | None = None
    is_default: bool | None = None
    """True: new conversations begin with it."""
    num_workers: int | None = None
    path: str | None = None
    url: str | None = None
    """Another address does not get the key of the first."""
    key: str | None = None
    """Empty: the server gets none."""
    has_vision: bool | None = None
    """A remote model's server takes pictures."""


class RegisteredModel(Result):
    """A model of the registry."""

    id: str
    name: str
    """Shown to users: an operator's name for the model, or its id."""
    kind: Kind
    path: str
    url: str
    """Address of the remote server; empty: there is none."""
    has_key: bool
    has_vision: bool
    """Its remote server takes pictures, as an operator says."""
    state: State
    """checking: its test generation is waited for. failed: that failed. enabled: it is offered. drained: it takes no
    new request, and its workers stay. retired: its workers are stopped."""
    is_default: bool
    is_configured: bool
    """The server's environment names it. Its files, address and key cannot be changed here."""
    num_workers: int
    """Workers that the server starts."""
    num_ready_workers: int
    num_open_requests: int
    num_conversations: int
    """Conversations, of all users, whose next message goes to it."""
    tokenizer_version: str | None
    """Null: the model is failed or retired, or its files cannot be read."""
    window: int | None
    """Tokens of prompt and answer together; null as above."""
    message: str
    """Why the last check failed; empty: it did not."""
    check_request_id: str | None
    """The request of the last check, which its operator opens in the inspector. Null: it has not begun."""
    checked_at: datetime | None
    """The end of the last check. Null: it was never checked."""
    first_token_ms: float | None
    tokens_per_s: float | None
    text: str
    """The answer of the last check."""


class Registry(Result):
    """All models, the default first."""

    models: list[RegisteredModel]


def list_models(request: HttpRequest) -> Registry:
    """List the models of the registry, for operators. 403 `forbidden`."""
    _check_operator(request)
    figures = _Figures()
    return Registry(models=[figures.shown(row) for row in models.RegisteredModel.objects.all()])


def show_model(request: HttpRequest, model: str) -> RegisteredModel:
    """Show one model of the registry. 403 `forbidden`."""
    _check_operator(request)
    with _refusals("cannot_change"):
        return _Figures().shown(models.RegisteredModel.objects.get(pk=model))


@answers(201)
def create_model(request: HttpRequest, body: NewModel) -> RegisteredModel:
    """Add a model. A test generation checks it, and enables it. 403 `forbidden`; 409 `model_exists`."""
    operator = _check_operator(request)
    place = Place(body.kind, body.path, body.url, body.key)
    with _refusals("cannot_change"):
        return _Figures().shown(change.register(body.id, place, body.num_workers, operator, body.has_vision))


def change_model(request: HttpRequest, model: str, body: ModelChange) -> RegisteredModel:
    """Change a model. 403 `forbidden`; 409 `cannot_change` where its state does not allow it."""
    operator = _check_operator(request)
    wanted = Change(body.state, body.is_default, body.num_workers, body.path, body.url, body.key, body.has_vision)
    with _refusals("cannot_change"):
        return _after(model, lambda: change.change(model, wanted, _num_open(model), operator))


def check_model(request: HttpRequest, model: str) -> RegisteredModel:
    """Check a model by a test generation, which enables it. 403 `forbidden`; 409 `cannot_change`."""
    operator = _check_operator(request)
    with _refusals("cannot_change"):
        return _after(model, lambda: change.ask_for_check(model, operator))


def delete_model(request: HttpRequest, model: str) -> None:
    """Take a model out of the registry. Conversations keep their texts. 403 `forbidden`; 409 `model_in_use`."""
    _check_operator(request)
    with _refusals("model_in_use"):
        change.remove(model, _num_open(model))


def _check_operator(request: HttpRequest) -> int:
    checked_operator(request, PERMISSION, "Only operators with the permission to change models see the registry.")
    return user_id(request)


def _after(model: str, act: Callable[[], models.RegisteredModel]) -> RegisteredModel:
    """The model after a change. Workers of a run that is over take no more requests. Raises DoesNotExist."""
    before = models.RegisteredModel.objects.get(pk=model)
    row = act()
    if row.run != before.run:
        drain_all(model)
    return _Figures().shown(row)


@contextmanager
def _refusals(conflict: str) -> Iterator[None]:
    """Raises ApiError in place of the registry's exceptions. conflict: the code where the state does not allow it."""
    try:
        yield
    except models.RegisteredModel.DoesNotExist:
        raise not_found("model") from None
    except ModelExists:
        raise ApiError(409, "model_exists", "A model with this id is there already. Choose another id.", "id") from None
    except BadField as bad:
        raise ApiError(400, "invalid", str(bad), bad.field) from None
    except BadFields as bad:
        raise all_of([ApiError(400, "invalid", str(each), each.field) for each in bad.problems]) from None
    except CannotChange as error:
        raise ApiError(409, conflict, str(error)) from None


def _num_open(model: str) -> int:
    return Request.objects.filter(model=model, finished_at=None).count()


class _Figures:
    """What workers, requests and conversations say of the models at one moment."""

    def __init__(self) -> None:
        """Raises RedisError."""
        self._names = model_names()
        self._ready = Counter(each.model for each in heartbeats().values() if each.state == "ready")
        self._open = Counter(Request.objects.filter(finished_at=None).values_list("model", flat=True))
        self._conversations = dict(Conversation.objects.values_list("model").annotate(num=Count("pk")))

    def shown(self, row: models.RegisteredModel) -> RegisteredModel:
        is_running = row.state not in (row.State.FAILED, row.State.RETIRED)
        loaded = services.services_of(row) if is_running else None
        return RegisteredModel(
            id=row.pk,
            name=self._names.get(row.pk, row.pk),
            kind=row.kind,  # type: ignore[arg-type]
            path=row.path,
            url=row.url,
            has_key=settings.ENVIRONMENT.has_backend_key if row.is_configured else bool(row.key),
            has_vision=row.has_vision,
            state=row.state,  # type: ignore[arg-type]
            is_default=row.is_default,
            is_configured=row.is_configured,
            num_workers=row.num_workers,
            num_ready_workers=self._ready[row.pk],
            num_open_requests=self._open[row.pk],
            num_conversations=self._conversations.get(row.pk, 0),
            tokenizer_version=loaded.tokenizer.version if loaded else None,
            window=loaded.window if loaded else None,
            message=row.message,
            check_request_id=row.check_request_id or None,
            checked_at=row.checked_at,
            first_token_ms=row.first_token_ms,
            tokens_per_s=row.tokens_per_s,
            text=row.text,
        )
