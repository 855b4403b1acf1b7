"""Every address of the site."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from webapp.accounts.views import sign_in
from webapp.api import learn, presets, requests, reruns, site
from webapp.api.chat import conversations as chat
from webapp.api.chat.preview import preview
from webapp.api.chat.transfer import export, import_conversations
from webapp.api.chat.turns import turns
from webapp.api.comparison import compared
from webapp.api.ledger import ledger
from webapp.api.probes import probe
from webapp.api.steps import step
from webapp.api.traces import collection, traces
from webapp.api.traces import shares as sharing
from webapp.api.traces.imports import import_file
from webapp.api.traces.retention import retention
from webapp.api.traces.saved import saved
from webapp.dashboard.views import usage
from webapp.stream.sse import events

handler400 = "webapp.gateway.errors.bad_request"
handler404 = "webapp.gateway.errors.page_not_found"
handler500 = "webapp.gateway.errors.server_error"

urlpatterns = [
    path("healthz", site.healthz),
    path("readyz", site.readyz),
    path("api/session", site.session),
    path("api/models/<str:model>/tokenizer.json", site.tokenizer),
    path("api/conversations", chat.conversations),
    path("api/conversations/check", chat.check),
    path("api/conversations/import", import_conversations),
    path("api/conversations/preview", preview),
    path("api/conversations/<str:conversation_id>/preview", preview),
    path("api/conversations/<str:conversation_id>", chat.conversation),
    path("api/conversations/<str:conversation_id>/messages", chat.messages),
    path("api/conversations/<str:conversation_id>/export", export),
    path("api/conversations/<str:conversation_id>/turns", turns),
    path("api/messages/<str:message_id>/regenerate", chat.regenerate),
    path("api/requests/<str:request_id>", requests.show),
    path("api/requests/<str:request_id>/cancel", requests.cancel),
    path("api/requests/<str:request_id>/fork", chat.fork),
    path("api/requests/<str:request_id>/step", step),
    path("api/requests/<str:request_id>/observed", requests.observed),
    path("api/requests/<str:request_id>/compared", compared),
    path("api/requests/<str:request_id>/ledger", ledger),
    path("api/requests/<str:request_id>/probes", probe),
    path("api/requests/<str:request_id>/reruns", reruns.of_request),
    path("api/reruns/<str:rerun_id>", reruns.show),
    path("api/reruns/<str:rerun_id>/stop", reruns.cancel),
    path("api/presets", presets.presets),
    path("api/presets/<int:preset_id>", presets.preset),
    path("api/tags", collection.tags),
    path("api/views", collection.views),
    path("api/views/<int:view_id>", collection.view),
    path("api/traces", traces.traces),
    path("api/traces/import", import_file),
    path("api/traces/choices", collection.choices),
    path("api/traces/tags", collection.change_tags),
    path("api/traces/delete", collection.delete),
    path("api/traces/archive", collection.archive),
    path("api/traces/<str:request_id>", traces.trace),
    path("api/traces/<str:request_id>/export", traces.export),
    path("api/learn/prices", learn.prices),
    path("api/learn/chat", learn.chat),
    path("api/learn/checks", learn.check),
    path("api/learn/gate", learn.gate),
    path("api/learn/simulations", learn.simulate),
    path("api/learn/experiments", learn.experiment),
    path("api/learn/tokenizers/wordpiece", learn.wordpiece),
    path("api/traces/<str:request_id>/saved", saved),
    path("api/traces/<str:request_id>/otlp", traces.send),
    path("api/traces/<str:request_id>/shares", sharing.shares_of_trace),
    path("api/shares", sharing.shares),
    path("api/shares/<int:share_id>", sharing.share),
    path("api/retention", retention),
    path("requests/<str:request_id>/events", events),
    path("accounts/login/", LoginView.as_view(template_name="login.html"), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("signin/<str:token>", sign_in),
    path("shared/<str:token>", sharing.shared),
    path("admin/usage/", admin.site.admin_view(usage), name="usage"),
    path("admin/", admin.site.urls),
    path("", site.shell),
    path("c/<str:conversation_id>", site.shell),
    path("c/<str:conversation_id>/turns", site.shell),
    path("requests/<str:request_id>", site.shell),
    path("library", site.shell),
    path("compare", site.shell),
    path("race", site.shell),
    path("reruns/<str:rerun_id>", site.shell),
    path("learn", site.shell),
    path("learn/<str:exhibit>", site.shell),
]
