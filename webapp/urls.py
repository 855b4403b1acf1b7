"""Every address of the site."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import path
from django.views.generic import RedirectView

from webapp.accounts.views import sign_in
from webapp.api import (
    alerts,
    audit,
    comparison,
    findings,
    health,
    learn,
    ledger,
    limits,
    metrics,
    notices,
    people,
    presets,
    prices,
    probes,
    requests,
    reruns,
    site,
    steps,
    usage,
    what_if,
)
from webapp.api.chat import conversations, messages, preview, transfer, turns
from webapp.api.docs import views as docs
from webapp.api.traces import collection, imports, retention, saved, shares, traces
from webapp.api.view import api
from webapp.stream.sse import events

handler400 = "webapp.gateway.errors.bad_request"
handler404 = "webapp.gateway.errors.page_not_found"
handler500 = "webapp.gateway.errors.server_error"

_TABLES = [
    path("tables/", admin.site.admin_view(admin.site.index), name="index"),
    *(page for page in admin.site.get_urls() if getattr(page, "name", "") != "index"),
]
"""The admin's pages. Its index makes room for the desk."""

urlpatterns = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", metrics.metrics),
    path("api/docs", docs.viewer),
    path("api/openapi.json", docs.document),
    path("api/session", api(GET=site.show_session)),
    path("api/models/<str:model>/tokenizer.json", api(GET=site.show_tokenizer)),
    path("api/conversations", api(GET=conversations.list_conversations, POST=conversations.create_conversation)),
    path("api/conversations/check", api(POST=conversations.check_conversation)),
    path("api/conversations/import", api(POST=transfer.import_conversations)),
    path("api/conversations/preview", api(POST=preview.preview_first)),
    path(
        "api/conversations/<str:conversation_id>",
        api(
            GET=conversations.show_conversation,
            PATCH=conversations.change_conversation,
            DELETE=conversations.delete_conversation,
        ),
    ),
    path("api/conversations/<str:conversation_id>/preview", api(POST=preview.preview_next)),
    path("api/conversations/<str:conversation_id>/messages", api(POST=messages.send_message)),
    path("api/conversations/<str:conversation_id>/export", api(GET=transfer.export_conversation)),
    path("api/conversations/<str:conversation_id>/turns", api(GET=turns.list_turns)),
    path("api/messages/<str:message_id>/regenerate", api(POST=messages.regenerate)),
    path("api/requests", api(GET=traces.list_requests)),
    path("api/requests/import", api(POST=imports.import_requests)),
    path("api/requests/choices", api(GET=collection.list_choices)),
    path("api/requests/tags", api(GET=collection.list_tags, POST=collection.change_tags)),
    path("api/requests/delete", api(POST=collection.delete_requests)),
    path("api/requests/archive", api(POST=collection.archive_requests)),
    path(
        "api/requests/<str:request_id>",
        api(GET=requests.show_request, PATCH=traces.change_marks, DELETE=traces.delete_request),
    ),
    path("api/requests/<str:request_id>/events", events),
    path("api/requests/<str:request_id>/trace", api(GET=saved.show_trace)),
    path("api/requests/<str:request_id>/cancel", api(POST=requests.cancel_request)),
    path("api/requests/<str:request_id>/fork", api(POST=messages.fork)),
    path("api/requests/<str:request_id>/step", api(POST=steps.step)),
    path("api/requests/<str:request_id>/observed", api(POST=requests.observe_request)),
    path("api/requests/<str:request_id>/compared", api(GET=comparison.show_comparison)),
    path("api/requests/<str:request_id>/ledger", api(GET=ledger.show_ledger_entry)),
    path("api/requests/<str:request_id>/probes", api(POST=probes.probe)),
    path("api/requests/<str:request_id>/reruns", api(GET=reruns.list_reruns, POST=reruns.create_rerun)),
    path("api/requests/<str:request_id>/export", api(GET=traces.export_request)),
    path("api/requests/<str:request_id>/otlp", api(POST=traces.send_spans)),
    path(
        "api/requests/<str:request_id>/shares",
        api(GET=shares.list_request_shares, POST=shares.create_share),
    ),
    path("api/reruns/<str:rerun_id>", api(GET=reruns.show_rerun)),
    path("api/reruns/<str:rerun_id>/stop", api(POST=reruns.stop_rerun)),
    path("api/views", api(GET=collection.list_views, POST=collection.create_view)),
    path("api/views/<int:view_id>", api(PATCH=collection.change_view, DELETE=collection.delete_view)),
    path("api/shares", api(GET=shares.list_shares)),
    path("api/shares/<int:share_id>", api(DELETE=shares.delete_share)),
    path("api/retention", api(GET=retention.show_retention, PUT=retention.change_retention)),
    path("api/health", api(GET=health.show_health)),
    path("api/audit", api(GET=audit.show_audit_log)),
    path("api/users", api(GET=people.list_people)),
    path("api/users/<int:target_id>", api(GET=people.show_person)),
    path("api/users/<int:target_id>/stop", api(POST=people.stop_person)),
    path("api/users/<int:target_id>/resume", api(POST=people.resume_person)),
    path("api/users/<int:target_id>/limits", api(PUT=limits.change_user_limits)),
    path("api/groups/<int:group_id>/limits", api(PUT=limits.change_group_limits)),
    path("api/limits", api(PUT=limits.change_site_limits)),
    path("api/notices", api(GET=notices.list_notices, POST=notices.create_notice)),
    path("api/notices/all", api(GET=notices.list_planned_notices)),
    path("api/notices/<int:notice_id>", api(DELETE=notices.end_notice)),
    path("api/prices", api(GET=prices.list_prices, POST=prices.create_prices, DELETE=prices.remove_prices)),
    path("api/prices/preview", api(POST=prices.preview_prices)),
    path("api/usage", api(GET=usage.show_own_usage)),
    path("api/usage/requests", api(GET=usage.list_own_used_requests)),
    path("api/usage/all", api(GET=usage.show_all_usage)),
    path("api/usage/findings", api(GET=findings.show_own_findings)),
    path("api/alerts", api(GET=alerts.list_alerts)),
    path("api/alerts/rules", api(POST=alerts.create_alert_rule)),
    path(
        "api/alerts/rules/<int:rule_id>",
        api(PATCH=alerts.change_alert_rule, DELETE=alerts.delete_alert_rule),
    ),
    path("api/alerts/rules/<int:rule_id>/test", api(POST=alerts.try_alert_rule)),
    path("api/usage/all/what-if", api(GET=what_if.ask_what_if)),
    path("api/usage/all/findings", api(GET=findings.show_all_findings)),
    path("api/usage/all/requests", api(GET=usage.list_all_used_requests)),
    path("api/presets", api(GET=presets.list_presets, POST=presets.create_preset)),
    path("api/presets/<int:preset_id>", api(PATCH=presets.rename_preset, DELETE=presets.delete_preset)),
    path("api/learn/prices", api(GET=learn.show_prices)),
    path("api/learn/tokenizers/wordpiece", api(GET=learn.show_wordpiece)),
    path("api/learn/chat", api(POST=learn.pack_chat)),
    path("api/learn/gateway", api(POST=learn.rehearse)),
    path("api/learn/checks", api(POST=learn.check_text)),
    path("api/learn/simulations", api(POST=learn.simulate)),
    path("api/learn/experiments", api(POST=learn.experiment)),
    path("accounts/login/", notices.SignInPage.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("signin/<str:token>", sign_in),
    path("shared/<str:token>", shares.shared),
    path("admin/", site.desk_page("usage.view_usagerecord"), name="desk"),
    path("admin/alerts/", site.desk_page("alerts.change_alertrule")),
    path("admin/users/", site.desk_page("usage.view_usagerecord")),
    path("admin/users/<int:target_id>/", site.desk_page("usage.view_usagerecord")),
    path("admin/notices/", site.desk_page("notices.view_notice")),
    path("admin/prices/", site.desk_page("billing.view_price")),
    path("admin/audit/", site.desk_page("auditlog.view_logentry")),
    path("admin/usage/", RedirectView.as_view(pattern_name="desk", query_string=False)),
    path("admin/", (_TABLES, "admin", admin.site.name)),
    path("", site.shell),
    path("c/<str:conversation_id>", site.shell),
    path("c/<str:conversation_id>/turns", site.shell),
    path("requests/<str:request_id>", site.shell),
    path("library", site.shell),
    path("usage", site.shell),
    path("compare", site.shell),
    path("race", site.shell),
    path("reruns/<str:rerun_id>", site.shell),
    path("learn", site.shell),
    path("learn/<str:exhibit>", site.shell),
]
