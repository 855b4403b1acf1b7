from django.apps import AppConfig


class KeysConfig(AppConfig):
    name = "webapp.identity.keys"
    label = "keys"
