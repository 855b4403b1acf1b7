from django.apps import AppConfig


class BillingConfig(AppConfig):
    name = "webapp.billing"
    label = "billing"

    def ready(self) -> None:
        from webapp.audit.log import audited
        from webapp.billing.models import ModelName, Price

        audited(Price)
        audited(ModelName, without=["compared"])
