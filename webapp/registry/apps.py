from django.apps import AppConfig
from django.db.models.signals import post_migrate


class RegistryConfig(AppConfig):
    name = "webapp.registry"
    label = "registry"

    def ready(self) -> None:
        from webapp.audit.log import audited
        from webapp.registry.configured import on_migrated
        from webapp.registry.models import FACTS, RegisteredModel

        audited(RegisteredModel, without=FACTS, secret=["key"])
        post_migrate.connect(on_migrated, sender=self)
