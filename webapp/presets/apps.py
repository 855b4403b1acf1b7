from django.apps import AppConfig


class PresetsConfig(AppConfig):
    name = "webapp.presets"
    label = "presets"
