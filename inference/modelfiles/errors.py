"""Errors of model files, with messages for people. Knows nothing of formats."""

from __future__ import annotations

from pathlib import Path


class ModelFileError(Exception):
    """The model file is missing, damaged or of a kind that we cannot run; the message says which and what to do."""


def missing(path: Path) -> ModelFileError:
    known = "a GGUF file or a Hugging Face folder"
    return ModelFileError(f"the model file {path} does not exist; give the path of {known}")


def damaged(path: Path, detail: object) -> ModelFileError:
    """detail: the finding, in one line."""
    advice = "download it again, or choose another model"
    return ModelFileError(f"{path} is damaged or truncated; {advice} ({detail})")


def unsupported(path: Path, detail: object, known: tuple[str, ...] = ()) -> ModelFileError:
    """detail: the feature that the file asks for; known: the supported alternatives."""
    advice = f"use one of: {', '.join(known)}" if known else "choose another model"
    return ModelFileError(f"{path}: {detail} is not supported; {advice}")
