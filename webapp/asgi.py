"""The site as an ASGI application: HTTP by Django, WebSockets by Channels, both for signed-in users."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
_http = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402
from django.urls import path  # noqa: E402

from webapp.stream.consumer import EventsConsumer  # noqa: E402
from webapp.stream.origin import OwnOrigin  # noqa: E402

_sockets = URLRouter([path("requests/<str:request_id>/events", EventsConsumer.as_asgi())])

application = ProtocolTypeRouter(
    {"http": _http, "websocket": OwnOrigin(AllowedHostsOriginValidator(AuthMiddlewareStack(_sockets)))}
)
