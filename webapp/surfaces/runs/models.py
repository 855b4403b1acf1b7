"""Sets of runs of a saved request, and each of their runs. The answers are in the runs' traces."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models.signals import post_delete, pre_delete
from django.dispatch import receiver

from webapp.identifiers import new_rerun_id
from webapp.requests.delivery import forget
from webapp.requests.input import InputField, SavedInput
from webapp.requests.models import Request


class Rerun(models.Model):
    """A set of runs of one saved request. It keeps the model's input and does not need the request any more."""

    class Seeds(models.TextChoices):
        SAME = "same"
        FRESH = "fresh"

    id = models.CharField(primary_key=True, max_length=32, default=new_rerun_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="reruns")
    key = models.ForeignKey("keys.ApiKey", null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    """The key that began it, for its runs' requests; null: a sign-in did, or the key was deleted."""
    original = models.ForeignKey(Request, null=True, on_delete=models.SET_NULL, related_name="reruns")
    title = models.CharField(max_length=200)
    model = models.CharField(max_length=128)
    input: models.Field[SavedInput, SavedInput] = InputField(struct=SavedInput)
    """The input of each run's request."""
    params = models.JSONField()
    """The saved request's params."""
    seeds = models.CharField(max_length=8, choices=Seeds.choices)
    n = models.PositiveSmallIntegerField()
    """Runs of each combination of settings."""
    grid = models.JSONField(default=dict)
    prompt_check = models.JSONField()
    """The saved prompt compared with today's tokenizer and template: PromptCheck as JSON."""
    created_at = models.DateTimeField(auto_now_add=True)
    stopped_at = models.DateTimeField(null=True)
    stop_reason = models.TextField(blank=True)
    """The refusal that no wait would change; empty: its user stopped it, or it is not stopped."""

    class Meta:
        indexes: ClassVar = [models.Index(fields=["user", "-created_at"], name="reruns_of_user")]

    def __str__(self) -> str:
        return self.id

    @property
    def num_planned(self) -> int:
        """Number of planned runs; some may be deleted since."""
        return self.n * prod(len(values) for values in self.grid.values())


class Run(models.Model):
    """One run: waiting until it has a request; deleted with that request's trace."""

    rerun = models.ForeignKey(Rerun, on_delete=models.CASCADE, related_name="runs")
    index = models.PositiveSmallIntegerField()
    settings = models.JSONField(default=dict)
    """The grid's settings for this run."""
    params = models.JSONField()
    request = models.OneToOneField(Request, null=True, on_delete=models.CASCADE, related_name="run")
    num_tries = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["index"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["rerun", "index"], name="one_run_per_index")]

    def __str__(self) -> str:
        return f"run {self.index} of {self.rerun_id}"


@receiver(post_delete, sender=Rerun)
def forget_key(instance: Rerun, **_: Any) -> None:
    """Delete the key of the call that began the set."""
    forget(instance.pk)


@receiver(pre_delete, sender=Run)
def lock_set(instance: Run, **_: Any) -> None:
    """Lock the set while a run is deleted, so that the later of two deletions finds its run the last."""
    Rerun.objects.select_for_update().filter(pk=instance.rerun_id).first()


@receiver(post_delete, sender=Run)
def delete_empty_set(instance: Run, **_: Any) -> None:
    """Delete the set, which also holds the prompt, with its last run."""
    Rerun.objects.filter(pk=instance.rerun_id, runs=None).delete()
