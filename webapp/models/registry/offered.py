"""Finds models by their id, and says which of them are offered. Knows nothing of how a model gets into the registry."""

from __future__ import annotations

from webapp.ground.gateway.refusal import Refusal
from webapp.models.billing.naming import model_names
from webapp.models.registry.models import RegisteredModel

State = RegisteredModel.State
EMBEDDING_MODEL = "all-minilm-l6-v2"
"""The bundled model that embeds texts. It is always offered, and no row of the registry."""


class NotOffered(Refusal):
    """The model takes no new request."""

    code, field = "model_unavailable", "model"

    def __init__(self, model: str) -> None:
        name = model_names().get(model, model)
        super().__init__(f"{name} is no longer offered. Choose another model.")


class UnknownModel(Refusal):
    """No model with this id is offered for a new conversation."""

    status, code, field = 404, "unknown_model", "model"

    def __init__(self, model: str) -> None:
        known = ", ".join(repr(each.pk) for each in enabled())
        super().__init__(f"There is no model {model[:100]!r}; use one of: {known}.")


def find(model: str) -> RegisteredModel | None:
    return RegisteredModel.objects.filter(pk=model).first()


def enabled() -> list[RegisteredModel]:
    """The models that are offered, the default first."""
    return list(RegisteredModel.objects.filter(state=State.ENABLED))


def default_id() -> str:
    """The id of the model with which a new conversation begins."""
    return RegisteredModel.objects.values_list("pk", flat=True).get(is_default=True)


def offered(model: str) -> RegisteredModel | None:
    """The row of a model that is offered; None: it is not."""
    if "\x00" in model:  # PostgreSQL accepts no NUL, not even in a lookup
        return None
    return RegisteredModel.objects.filter(pk=model, state=State.ENABLED).first()


def is_offered(model: str) -> bool:
    return offered(model) is not None


def check_offered(model: str) -> None:
    """Raises NotOffered."""
    if not is_offered(model):
        raise NotOffered(model)


def has_vision(model: str) -> bool:
    """Return whether the model reads pictures."""
    return "\x00" not in model and RegisteredModel.objects.filter(pk=model, has_vision=True).exists()


def no_vision(model: str) -> str:
    """The refusal of a picture, in words."""
    name = model_names().get(model, model)[:100]
    return f"{name} reads no pictures. Choose a model with vision, or leave the picture out."


def chosen(model: str | None) -> str:
    """The model of a new conversation; None: the default. Raises UnknownModel."""
    if model is None:
        return default_id()
    chosen_row(model)
    return model


def chosen_row(model: str) -> RegisteredModel:
    """Raises UnknownModel."""
    row = offered(model)
    if row is None:
        raise UnknownModel(model)
    return row
