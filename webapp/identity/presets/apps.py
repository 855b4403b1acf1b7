from django.apps import AppConfig


class PresetsConfig(AppConfig):
    name = "webapp.identity.presets"
    label = "presets"
