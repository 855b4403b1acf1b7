from django.apps import AppConfig
from django.conf import settings


class TracesConfig(AppConfig):
    name = "webapp.traces"
    label = "traces"

    def ready(self) -> None:
        from webapp.ground.audit.log import audited
        from webapp.traces.models import SiteRetentionRule

        audited(SiteRetentionRule)
        if settings.ENVIRONMENT.otlp is not None:
            from webapp.requests.signals import settled
            from webapp.traces.export.tasks import on_settled

            settled.connect(on_settled)
