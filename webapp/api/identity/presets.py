"""Operations on a user's presets."""

from __future__ import annotations

import msgspec
from django.http import HttpRequest

from inference.protocol.request import SamplingParams
from webapp.api.surfaces.chat.conversations import check_settings
from webapp.api.surfaces.chat.schema import NewConversation
from webapp.ground.gateway.errors import ApiError, not_found, user_id
from webapp.ground.gateway.names import checked_name, save_named
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Result
from webapp.identity.presets import models

_MAX_PRESETS = 50


class NewPreset(Body):
    """A preset to save."""

    name: str
    params: SamplingParams
    system_prompt: str = ""
    n: int = 1
    """Answers to each message."""


class PresetChange(Body):
    """A preset's new name."""

    name: str


class Preset(Result):
    """A user's named settings for answers."""

    id: int
    name: str
    params: SamplingParams
    system_prompt: str
    n: int


class PresetList(Result):
    """The user's presets, by name."""

    presets: list[Preset]


def list_presets(request: HttpRequest) -> PresetList:
    """List the user's presets."""
    rows = models.Preset.objects.filter(user_id=user_id(request)).order_by("name")
    return PresetList(presets=[_shown(row) for row in rows])


@answers(201)
def create_preset(request: HttpRequest, body: NewPreset) -> Preset:
    """Save settings under a name. 409 `exists`, `too_many` (50)."""
    owner = user_id(request)
    if models.Preset.objects.filter(user_id=owner).count() >= _MAX_PRESETS:
        raise ApiError(409, "too_many", f"You have {_MAX_PRESETS} presets, the limit. Delete one first.")
    check_settings(NewConversation(system_prompt=body.system_prompt, params=body.params, n=body.n))
    preset = models.Preset(
        user_id=owner,
        name=checked_name(body.name, "preset"),
        params=msgspec.to_builtins(body.params),
        system_prompt=body.system_prompt,
        n=body.n,
    )
    save_named(preset, "preset")
    return _shown(preset)


def rename_preset(request: HttpRequest, preset_id: int, body: PresetChange) -> Preset:
    """Rename a preset. 409 `exists`."""
    found = _find(request, preset_id)
    found.name = checked_name(body.name, "preset")
    save_named(found, "preset")
    return _shown(found)


def delete_preset(request: HttpRequest, preset_id: int) -> None:
    """Delete a preset."""
    _find(request, preset_id).delete()


def _find(request: HttpRequest, preset_id: int) -> models.Preset:
    found = models.Preset.objects.filter(pk=preset_id, user_id=user_id(request)).first()
    if found is None:
        raise not_found("preset")
    return found


def _shown(row: models.Preset) -> Preset:
    params = msgspec.convert(row.params, SamplingParams)
    return Preset(id=row.pk, name=row.name, params=params, system_prompt=row.system_prompt, n=row.n)
