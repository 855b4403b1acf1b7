from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class AuditConfig(AppConfig):
    name = "webapp.ground.audit"
    label = "audit"
    default = True

    def ready(self) -> None:
        from webapp.ground.audit.actor import sign_entries

        sign_entries()


class AuditedAdminConfig(AdminConfig):
    """Django's admin with the site whose pages name their actor."""

    default = False
    default_site = "webapp.ground.audit.site.AuditedAdminSite"
