from django.apps import AppConfig


class BatchesConfig(AppConfig):
    name = "webapp.batches"
    label = "batches"

    def ready(self) -> None:
        from webapp.batches.tasks import on_settled
        from webapp.requests.signals import settled

        settled.connect(on_settled)
