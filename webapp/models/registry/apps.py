from django.apps import AppConfig
from django.db.models.signals import post_migrate


class RegistryConfig(AppConfig):
    name = "webapp.models.registry"
    label = "registry"

    def ready(self) -> None:
        from webapp.ground.audit.log import audited
        from webapp.models.registry.configured import on_migrated
        from webapp.models.registry.models import FACTS, RegisteredModel

        audited(RegisteredModel, without=FACTS, secret=["key"])
        post_migrate.connect(on_migrated, sender=self)
