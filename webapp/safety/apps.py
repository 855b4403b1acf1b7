from django.apps import AppConfig


class SafetyConfig(AppConfig):
    name = "webapp.safety"
    label = "safety"
