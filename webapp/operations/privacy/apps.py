from django.apps import AppConfig


class PrivacyConfig(AppConfig):
    name = "webapp.operations.privacy"
    label = "privacy"
