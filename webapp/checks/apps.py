from django.apps import AppConfig


class ChecksConfig(AppConfig):
    name = "webapp.checks"
    label = "checks"

    def ready(self) -> None:
        from webapp.checks.check import on_settled
        from webapp.requests.signals import settled

        settled.connect(on_settled)
