from django.apps import AppConfig


class RequestsConfig(AppConfig):
    name = "webapp.requests"
    label = "lifecycle"

    def ready(self) -> None:
        from webapp.requests.delivery import on_settled
        from webapp.requests.signals import settled

        settled.connect(on_settled)
