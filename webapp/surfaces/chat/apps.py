from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "webapp.surfaces.chat"
    label = "chat"

    def ready(self) -> None:
        from webapp.requests.signals import settled
        from webapp.surfaces.chat.renaming import on_renaming
        from webapp.surfaces.chat.searching import on_searching_chats, on_searching_files
        from webapp.surfaces.chat.tasks import on_settled
        from webapp.tools.rename import renaming
        from webapp.tools.search import searching_chats, searching_files

        settled.connect(on_settled)
        renaming.connect(on_renaming)
        searching_files.connect(on_searching_files)
        searching_chats.connect(on_searching_chats)
