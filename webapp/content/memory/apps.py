from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "webapp.content.memory"
    label = "memory"
