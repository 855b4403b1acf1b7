from django.apps import AppConfig


class LifecycleConfig(AppConfig):
    name = "webapp.lifecycle"
    label = "lifecycle"
