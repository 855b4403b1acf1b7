from django.apps import AppConfig


class AttachmentsConfig(AppConfig):
    name = "webapp.attachments"
    label = "attachments"
