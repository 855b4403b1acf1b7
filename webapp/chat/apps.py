from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "webapp.chat"
    label = "chat"

    def ready(self) -> None:
        from webapp.chat.delivery import on_settled
        from webapp.requests.signals import settled

        settled.connect(on_settled)
