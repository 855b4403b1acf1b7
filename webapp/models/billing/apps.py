from django.apps import AppConfig


class BillingConfig(AppConfig):
    name = "webapp.models.billing"
    label = "billing"

    def ready(self) -> None:
        from webapp.ground.audit.log import audited
        from webapp.models.billing.models import ModelName, Price

        audited(Price)
        audited(ModelName, without=["compared"])
