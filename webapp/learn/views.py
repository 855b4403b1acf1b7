"""What the exhibits ask of the server. Knows nothing of how they are drawn."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from inference.safety.minilm import bundled_minilm
from webapp.billing.bill import prices_in_force
from webapp.gateway.errors import ApiError, api


@api("GET")
def prices(request: HttpRequest) -> HttpResponse:
    """What a token of each kind costs today; null: the model is unpriced."""
    found = prices_in_force(settings.ENVIRONMENT.model_name, timezone.now().date())
    if found is None:
        return JsonResponse({"prices": None})
    unit_prices = {kind: price.unit_price_nano for kind, price in found.prices.items()}
    body = {"currency": found.currency, "version": found.version, "unit_prices_nano": unit_prices}
    return JsonResponse({"prices": body})


@api("GET")
def wordpiece(request: HttpRequest) -> HttpResponse:
    """The safety classifier's tokenizer, which was made in another way than the model's."""
    try:
        text = (bundled_minilm() / "tokenizer.json").read_bytes()
    except OSError:
        raise ApiError(503, "model_unavailable", "The safety classifier's files are not installed.") from None
    response = HttpResponse(text, content_type="application/json")
    response["Cache-Control"] = "private, max-age=3600"
    return response
