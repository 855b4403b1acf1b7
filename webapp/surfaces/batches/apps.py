from django.apps import AppConfig


class BatchesConfig(AppConfig):
    name = "webapp.surfaces.batches"
    label = "batches"

    def ready(self) -> None:
        from webapp.requests.signals import settled
        from webapp.surfaces.batches.tasks import on_settled

        settled.connect(on_settled)
