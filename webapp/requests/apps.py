from django.apps import AppConfig


class RequestsConfig(AppConfig):
    name = "webapp.requests"
    label = "lifecycle"
