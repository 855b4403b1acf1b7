from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "webapp.accounts"
    label = "accounts"

    def ready(self) -> None:
        from django.contrib.auth.models import Group, User

        from webapp.accounts.owners import follow_departures
        from webapp.accounts.use import follow_sign_ins
        from webapp.audit.log import audited

        audited(User, without=["last_login", "date_joined"], secret=["password"], many=["groups", "user_permissions"])
        audited(Group, many=["permissions"])
        follow_departures()
        follow_sign_ins()
