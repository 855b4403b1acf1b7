"""The operation by which an operator gives a model the name that users see."""

from __future__ import annotations

from django.http import HttpRequest

from webapp.api.models.prices import known_models
from webapp.api.operators import checked_operator
from webapp.ground.gateway.errors import ApiError
from webapp.ground.gateway.structs import Body
from webapp.models.billing.bill import price_book
from webapp.models.billing.naming import BadName, name_model

CHANGE = "billing.change_modelname"


class ModelNameBody(Body):
    """A model's name for users."""

    model: str
    """The model's id, which programs go on to use."""
    name: str
    """At most 60 characters. Empty: the model is shown by its id."""


def change_model_name(request: HttpRequest, body: ModelNameBody) -> None:
    """Give a model the name that users see. 403 `forbidden`; 409 `conflict` where another model has it."""
    checked_operator(request, CHANGE, "Only operators with the permission to change model names do so.")
    models = known_models(price_book())
    if body.model not in models:
        message = f"No model {body.model[:128]!r} is served, priced or was used. Choose one of the list."
        raise ApiError(400, "invalid", message, "model")
    try:
        name_model(body.model, body.name, [each for each in models if each != body.model])
    except BadName as bad:
        status, code = (409, "conflict") if bad.is_conflict else (400, "invalid")
        raise ApiError(status, code, str(bad), "name") from None
