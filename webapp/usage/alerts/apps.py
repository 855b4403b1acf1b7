from django.apps import AppConfig


class AlertsConfig(AppConfig):
    name = "webapp.usage.alerts"
    label = "alerts"

    def ready(self) -> None:
        from webapp.ground.audit.log import audited
        from webapp.usage.alerts.models import AlertRule

        # An address of a webhook can hold a password.
        audited(AlertRule, secret=["secret", "address"])
