from django.apps import AppConfig


class AlertsConfig(AppConfig):
    name = "webapp.alerts"
    label = "alerts"

    def ready(self) -> None:
        from webapp.alerts.models import AlertRule
        from webapp.audit.log import audited

        # An address of a webhook can hold a password.
        audited(AlertRule, secret=["secret", "address"])
