from django.apps import AppConfig


class NoticesConfig(AppConfig):
    name = "webapp.identity.notices"
    label = "notices"

    def ready(self) -> None:
        from webapp.ground.audit.log import audited
        from webapp.identity.notices.models import Notice

        audited(Notice)
