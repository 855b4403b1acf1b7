from django.apps import AppConfig


class SupervisorConfig(AppConfig):
    name = "webapp.operations.supervisor"
    label = "supervisor"
