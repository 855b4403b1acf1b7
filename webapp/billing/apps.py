from django.apps import AppConfig


class BillingConfig(AppConfig):
    name = "webapp.billing"
    label = "billing"
