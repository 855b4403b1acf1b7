"""The workers that the registry wants beside those of the configured model. Knows nothing of processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from webapp.models.registry.models import RegisteredModel

State = RegisteredModel.State
_RUNNING = (State.CHECKING, State.ENABLED, State.DRAINED)
_OF_THE_CONFIGURED_MODEL = {"SIGHTGLASS_BACKEND_URL", "SIGHTGLASS_BACKEND_KEY", "SIGHTGLASS_DRAFT_MODEL"}


@dataclass(frozen=True)
class ModelWorker:
    """One worker of an added model."""

    model: str
    number: int
    """From 1."""
    run: int
    """In another run it is another worker."""
    path: str
    url: str
    key: str = field(repr=False)
    num_workers: int = field(compare=False)
    """Workers of the model, which share the cores."""

    @property
    def name(self) -> str:
        """The name of its process and of its log."""
        return f"model-{self.model}-{self.number}"

    def environment(self, common: Mapping[str, str]) -> dict[str, str]:
        """The environment of its process. common: that of the product's processes."""
        own = {
            "SIGHTGLASS_MODEL": self.path,
            "SIGHTGLASS_MODEL_NAME": self.model,
            "SIGHTGLASS_BACKEND_URL": self.url,
            "SIGHTGLASS_BACKEND_KEY": self.key,
            "SIGHTGLASS_WORKERS": str(self.num_workers),
        }
        left = {name: value for name, value in common.items() if name not in _OF_THE_CONFIGURED_MODEL}
        return left | {name: value for name, value in own.items() if value}


def wanted() -> list[ModelWorker]:
    """The workers that should run now. Raises DatabaseError."""
    rows = RegisteredModel.objects.filter(is_configured=False, state__in=_RUNNING)
    return [
        ModelWorker(row.pk, number, row.run, row.path, row.url, row.key, row.num_workers)
        for row in rows
        for number in range(1, row.num_workers + 1)
    ]
