from django.apps import AppConfig


class ProbesConfig(AppConfig):
    name = "webapp.lifecycle.probes"
    label = "probes"
