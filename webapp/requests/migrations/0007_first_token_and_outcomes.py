from django.db import migrations, models

_FIELDS = ["finished_at", "status", "finish_reason", "safety_verdict", "surface", "model"]
_FIGURES = ["duration_us", "cost_nano", "currency", "num_input_tokens", "num_output_tokens", "is_imported"]


def tell_refusals_apart(apps, schema_editor):
    """A refusal was `failed`, a withheld answer `done`."""
    requests = apps.get_model("lifecycle", "Request").objects
    requests.filter(status="failed", error_code="blocked").update(status="blocked")
    requests.filter(status="done", finish_reason="content_filter").update(status="withheld")


class Migration(migrations.Migration):
    # traces.0008 is the last that knows the field by its former name.
    dependencies = [("lifecycle", "0006_context"), ("traces", "0008_imports_known_again")]

    operations = [
        migrations.RemoveIndex("request", "library"),
        migrations.RenameField("request", "first_token_us", "first_text_us"),
        migrations.AddField("request", "first_token_us", models.BigIntegerField(null=True)),
        migrations.AddField("request", "between_tokens_us", models.JSONField(null=True)),
        migrations.AlterField(
            "request",
            "status",
            models.CharField(
                choices=[
                    ("queued", "Queued"),
                    ("running", "Running"),
                    ("done", "Done"),
                    ("stopped", "Stopped"),
                    ("withheld", "Withheld"),
                    ("blocked", "Blocked"),
                    ("failed", "Failed"),
                ],
                default="queued",
                max_length=16,
            ),
        ),
        migrations.AddIndex(
            "request",
            models.Index(
                fields=["user", "-created_at", "-id", *_FIELDS, "first_text_us", *_FIGURES], name="library"
            ),
        ),
        migrations.RunPython(tell_refusals_apart, migrations.RunPython.noop),
    ]
