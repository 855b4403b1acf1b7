from django.apps import AppConfig


class SafetyConfig(AppConfig):
    name = "webapp.models.safety"
    label = "safety"
