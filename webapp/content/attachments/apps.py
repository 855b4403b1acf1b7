from django.apps import AppConfig


class AttachmentsConfig(AppConfig):
    name = "webapp.content.attachments"
    label = "attachments"
