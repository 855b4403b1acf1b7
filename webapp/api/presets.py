"""The JSON API of a user's presets."""

from __future__ import annotations

import msgspec
from django.http import HttpRequest, HttpResponse, JsonResponse

from inference.protocol.request import SamplingParams
from webapp.api.chat.conversations import NewConversation, check_settings
from webapp.api.view import api
from webapp.gateway.body import read_body
from webapp.gateway.errors import ApiError, not_found, user_id
from webapp.gateway.names import checked_name, save_named
from webapp.presets.models import Preset

_MAX_PRESETS = 50


class NewPreset(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    params: SamplingParams
    system_prompt: str = ""
    n: int = 1


class PresetChange(msgspec.Struct, forbid_unknown_fields=True):
    name: str


@api("GET", "POST")
def presets(request: HttpRequest) -> HttpResponse:
    owner = user_id(request)
    if request.method == "GET":
        rows = Preset.objects.filter(user_id=owner).order_by("name")
        return JsonResponse({"presets": [row.as_json() for row in rows]})
    body = read_body(request, NewPreset)
    if Preset.objects.filter(user_id=owner).count() >= _MAX_PRESETS:
        raise ApiError(409, "too_many", f"You have {_MAX_PRESETS} presets, the limit. Delete one first.")
    check_settings(NewConversation(system_prompt=body.system_prompt, params=body.params, n=body.n))
    preset = Preset(
        user_id=owner,
        name=checked_name(body.name, "preset"),
        params=msgspec.to_builtins(body.params),
        system_prompt=body.system_prompt,
        n=body.n,
    )
    save_named(preset, "preset")
    return JsonResponse(preset.as_json(), status=201)


@api("PATCH", "DELETE")
def preset(request: HttpRequest, preset_id: int) -> HttpResponse:
    found = Preset.objects.filter(pk=preset_id, user_id=user_id(request)).first()
    if found is None:
        raise not_found("preset")
    if request.method == "DELETE":
        found.delete()
        return HttpResponse(status=204)
    found.name = checked_name(read_body(request, PresetChange).name, "preset")
    save_named(found, "preset")
    return JsonResponse(found.as_json())
