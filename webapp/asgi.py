"""The site as an ASGI application: HTTP by Django, WebSockets by Channels, both for signed-in users."""

from __future__ import annotations

import gc
import os
from importlib import import_module

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
django.setup(set_prefix=False)

import kombu.transport.redis  # noqa: E402, F401  # else Celery does it, while the first message waits
from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator, WebsocketDenier  # noqa: E402
from django.conf import settings  # noqa: E402
from django.urls import path, re_path  # noqa: E402

from inference.protocol.preparing import prepare_structs  # noqa: E402
from webapp.ground.gateway.handler import OneHopHandler  # noqa: E402
from webapp.lifecycle.live.websocket import LiveConsumer  # noqa: E402
from webapp.lifecycle.stream.origin import OwnOrigin  # noqa: E402
from webapp.lifecycle.stream.websocket import EventsConsumer  # noqa: E402

import_module(settings.ROOT_URLCONF)  # else the first request does it, in a thread
prepare_structs()
gc.freeze()  # what the start made stays: the collector need not look through it again and again

_sockets = URLRouter(
    [
        path("events", EventsConsumer.as_asgi()),
        path("live", LiveConsumer.as_asgi()),
        re_path("", WebsocketDenier.as_asgi()),
    ]
)

_signed_in = AllowedHostsOriginValidator(AuthMiddlewareStack(_sockets))
application = ProtocolTypeRouter(
    {"http": OneHopHandler(), "websocket": OwnOrigin(_signed_in, settings.ENVIRONMENT.public_url)}
)
