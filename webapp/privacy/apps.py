from django.apps import AppConfig


class PrivacyConfig(AppConfig):
    name = "webapp.privacy"
    label = "privacy"
