from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "webapp.identity.accounts"
    label = "accounts"

    def ready(self) -> None:
        from django.contrib.auth.models import Group, User

        from webapp.ground.audit.log import audited
        from webapp.identity.accounts.owners import follow_departures
        from webapp.identity.accounts.use import follow_sign_ins

        audited(User, without=["last_login", "date_joined"], secret=["password"], many=["groups", "user_permissions"])
        audited(Group, many=["permissions"])
        follow_departures()
        follow_sign_ins()
