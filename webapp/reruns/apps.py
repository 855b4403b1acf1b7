from django.apps import AppConfig


class RerunsConfig(AppConfig):
    name = "webapp.reruns"
    label = "reruns"

    def ready(self) -> None:
        from webapp.requests.signals import settled
        from webapp.reruns.tasks import on_settled

        settled.connect(on_settled)
