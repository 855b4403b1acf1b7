"""`GET /metrics` for Prometheus, behind a token. For all others the address does not exist."""

from __future__ import annotations

import hmac

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from prometheus_client.exposition import choose_encoder

from webapp.usage.metrics.collector import registry


@csrf_exempt  # else the answer to a POST would tell that the address exists
def metrics(request: HttpRequest) -> HttpResponse:
    """Every metric, as Prometheus asks for it. Raises Http404 without the token of the settings."""
    if request.method not in ("GET", "HEAD") or not _has_token(request):
        raise Http404
    encode, media = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(registry()), content_type=media)


def _has_token(request: HttpRequest) -> bool:
    token = settings.ENVIRONMENT.metrics_token
    given = request.headers.get("Authorization", "").encode()
    return token is not None and hmac.compare_digest(given, f"Bearer {token}".encode())
