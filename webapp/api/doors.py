"""The door of every operation: a user who only views begins no work. Both families and the native API pass here.

A call that only reads passes. Any other is refused unless it stands here: a new operation is closed to viewers until
its line says that it begins nothing. Work that was begun earlier ends where requests are admitted
(`webapp.usage.limits`).
"""

from __future__ import annotations

from django.http import HttpRequest

from webapp.ground.gateway.errors import user_id
from webapp.usage.limits.rules import check_working

_READING = ("GET", "HEAD", "OPTIONS")
_RECORDED = "record/<str:recording>/"
BEGINS_NOTHING: dict[str, tuple[str, ...]] = {
    "api/conversations/<str:conversation_id>": ("PATCH", "DELETE"),
    "api/conversations/<str:conversation_id>/compactions/preview": ("POST",),
    "api/conversations/<str:conversation_id>/compactions/<str:summary_id>": ("DELETE",),
    "api/requests/tags": ("POST",),
    "api/requests/delete": ("POST",),
    "api/requests/archive": ("POST",),
    "api/requests/<str:request_id>": ("PATCH", "DELETE"),
    "api/requests/<str:request_id>/answer-now": ("POST",),
    "api/requests/<str:request_id>/cancel": ("POST",),
    "api/requests/<str:request_id>/observed": ("POST",),
    "api/requests/<str:request_id>/shares": ("POST",),
    # A saved probe is read here too. The operation refuses a new one.
    "api/requests/<str:request_id>/probes": ("POST",),
    "api/reruns/<str:rerun_id>/stop": ("POST",),
    "api/mcp": ("POST",),
    "api/batches/<str:batch_id>/cancel": ("POST",),
    "api/new-chats": ("PUT",),
    "api/memory": ("POST", "DELETE"),
    "api/memory/mode": ("PUT",),
    "api/memory/<str:memory_id>": ("PATCH", "DELETE"),
    "api/attachments/<str:attachment_id>": ("DELETE",),
    # A call that waits belongs to work that was begun earlier.
    "api/requests/<str:request_id>/approvals": ("POST",),
    "api/views": ("POST",),
    "api/views/<int:view_id>": ("PATCH", "DELETE"),
    "api/shares/<int:share_id>": ("DELETE",),
    "api/presets": ("POST",),
    "api/presets/<int:preset_id>": ("PATCH", "DELETE"),
    "api/recordings/<int:recording_id>": ("PATCH", "DELETE"),
    "api/retention": ("PUT",),
    # The own account, and the own place in groups.
    "api/account/sign-ins": ("DELETE",),
    "api/account/sign-ins/<str:sign_in_id>": ("DELETE",),
    "api/account/erasure": ("POST",),
    "api/account/groups/<int:group_id>": ("DELETE",),
    "api/account/invitations/<int:invitation_id>/accept": ("POST",),
    "api/account/invitations/<int:invitation_id>/decline": ("POST",),
    "api/keys/<int:key_id>": ("PATCH", "DELETE"),
    "api/keys/<int:key_id>/limits": ("PUT",),
    "api/groups/<int:group_id>/people/<int:target_id>": ("PATCH", "DELETE"),
    "api/groups/<int:group_id>/invitations": ("POST",),
    "api/groups/<int:group_id>/invitations/<int:invitation_id>": ("DELETE",),
    "api/usage/groups/<int:group_id>/limits": ("PUT",),
    # Operators rule over others' work and begin none of their own.
    "api/retention/site": ("PUT",),
    "api/retention/site/preview": ("POST",),
    "api/safety": ("PUT",),
    "api/safety/preview": ("POST",),
    "api/users/<int:target_id>/stop": ("POST",),
    "api/users/<int:target_id>/resume": ("POST",),
    "api/users/<int:target_id>/limits": ("PUT",),
    "api/users/<int:target_id>/sign-ins/end": ("POST",),
    "api/users/<int:target_id>/keys/<int:key_id>/limits": ("PUT",),
    "api/users/<int:target_id>/keys/<int:key_id>/revoke": ("POST",),
    "api/users/<int:user_id>/erasure": ("POST",),
    "api/groups/<int:group_id>/limits": ("PUT",),
    "api/groups/<int:group_id>/stop": ("POST",),
    "api/groups/<int:group_id>/resume": ("POST",),
    "api/limits": ("PUT",),
    "api/limits/shared": ("PUT",),
    "api/notices": ("POST",),
    "api/notices/<int:notice_id>": ("DELETE",),
    "api/prices": ("POST", "DELETE"),
    "api/prices/names": ("PUT",),
    "api/prices/preview": ("POST",),
    "api/alerts/rules": ("POST",),
    "api/alerts/rules/<int:rule_id>": ("PATCH", "DELETE"),
    "api/repricings/<str:work_id>": ("DELETE",),
    "api/registry/<str:model>": ("DELETE",),
    "api/live/workers/<str:name>": ("PATCH",),
    "api/live/requests/<str:request_id>/stop": ("POST",),
    # Other people's clients end what they have.
    "v1/files/<str:file_id>": ("DELETE",),
    "v1/batches/<str:batch_id>/cancel": ("POST",),
    "v1/responses/<str:response_id>": ("DELETE",),
    "v1/responses/<str:response_id>/cancel": ("POST",),
    "v1/messages/batches/<str:batch_id>": ("DELETE",),
    "v1/messages/batches/<str:batch_id>/cancel": ("POST",),
}
"""Methods by address, as in webapp/urls.py, of operations that change something and begin no work."""


def check_door(request: HttpRequest) -> None:
    """Raises Refused where the operation begins work and its user only views."""
    assert request.resolver_match is not None
    if begins_work(request.resolver_match.route, request.method or ""):
        check_working(user_id(request))


def begins_work(route: str, method: str) -> bool:
    """True: the operation may begin work. route: as in webapp/urls.py."""
    return method not in (*_READING, *BEGINS_NOTHING.get(route.removeprefix(_RECORDED), ()))
