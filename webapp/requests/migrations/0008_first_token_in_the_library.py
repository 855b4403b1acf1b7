from django.db import migrations, models

_FIELDS = ["finished_at", "status", "finish_reason", "safety_verdict", "surface", "model"]
_TIMES = ["first_token_us", "first_text_us", "duration_us"]
_FIGURES = ["cost_nano", "currency", "num_input_tokens", "num_output_tokens", "is_imported"]


class Migration(migrations.Migration):
    dependencies = [("lifecycle", "0007_first_token_and_outcomes")]

    operations = [
        migrations.RemoveIndex("request", "library"),
        migrations.AddIndex(
            "request",
            models.Index(fields=["user", "-created_at", "-id", *_FIELDS, *_TIMES, *_FIGURES], name="library"),
        ),
    ]
