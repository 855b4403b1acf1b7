from django.apps import AppConfig


class LimitsConfig(AppConfig):
    name = "webapp.usage.limits"
    label = "limits"
