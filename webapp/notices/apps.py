from django.apps import AppConfig


class NoticesConfig(AppConfig):
    name = "webapp.notices"
    label = "notices"

    def ready(self) -> None:
        from webapp.audit.log import audited
        from webapp.notices.models import Notice

        audited(Notice)
