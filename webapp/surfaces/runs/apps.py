from django.apps import AppConfig


class RerunsConfig(AppConfig):
    name = "webapp.surfaces.runs"
    label = "reruns"

    def ready(self) -> None:
        from webapp.requests.signals import settled
        from webapp.surfaces.runs.tasks import on_settled

        settled.connect(on_settled)
