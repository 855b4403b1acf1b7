"""The forms in which each family writes the lines of a batch, by the family's name."""

from __future__ import annotations

from collections.abc import Mapping

from webapp.api.anthropic.batch_lines import AnthropicForm
from webapp.api.openai.batches.lines import OpenAIForm
from webapp.surfaces.batches.form import Form

FORMS: Mapping[str, Form] = {"openai": OpenAIForm(), "anthropic": AnthropicForm()}
