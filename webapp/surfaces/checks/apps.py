from django.apps import AppConfig


class ChecksConfig(AppConfig):
    name = "webapp.surfaces.checks"
    label = "checks"

    def ready(self) -> None:
        from webapp.requests.signals import settled
        from webapp.surfaces.checks.check import on_settled

        settled.connect(on_settled)
