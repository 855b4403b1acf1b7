from django.apps import AppConfig


class RecordingsConfig(AppConfig):
    name = "webapp.traces.recordings"
    label = "recordings"
