from django.apps import AppConfig


class CallsConfig(AppConfig):
    name = "webapp.surfaces.calls"
    label = "calls"
