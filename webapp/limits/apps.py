from django.apps import AppConfig


class LimitsConfig(AppConfig):
    name = "webapp.limits"
    label = "limits"
