"""Chooses the form of the kernels when the engine starts. Knows nothing of models."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from inference.kernels.compiler import compile_form, library_stem
from inference.kernels.cpu import cpu_features
from inference.kernels.forms import AUTO, TORCH, Form, NoKernels, candidates
from inference.kernels.library import CannotLoad, Kernels
from inference.kernels.library_cache import find_kept

logger = logging.getLogger(__name__)


def find_kernels(
    directory: Path, num_threads: int, wanted: str = AUTO, on_torch: Callable[[str], None] = lambda _reason: None
) -> Kernels | None:
    """Return the best form that this machine compiles and computes; None: PyTorch computes.

    wanted: a form by name, forms.AUTO or forms.TORCH. With AUTO, on_torch hears the reason where no form can be had.
    With a form by name, NoKernels is raised instead.
    """
    if wanted == TORCH:
        return None
    reason = NoKernels("")
    try:
        for form in candidates(wanted, cpu_features()):
            try:
                with _folder_of(form, directory) as folder:
                    return _load(form, folder, num_threads)
            except NoKernels as error:
                reason = error
                logger.warning("the kernels' form for %s cannot be used: %s", form.label, error)
    except NoKernels as error:
        reason = error
    if wanted != AUTO:
        raise reason
    logger.warning("PyTorch computes all models: %s", reason)
    on_torch(str(reason))
    return None


def _load(form: Form, folder: Path, num_threads: int) -> Kernels:
    """Load the form's library; a new one where the kept one cannot be loaded. Raises NoKernels."""
    try:
        return Kernels(compile_form(form, folder), form.label, num_threads)
    except CannotLoad as error:
        logger.warning("the kernels are compiled again: %s", error)
        return Kernels(compile_form(form, folder), form.label, num_threads)


@contextmanager
def _folder_of(form: Form, directory: Path) -> Iterator[Path]:
    """Yield the directory. Where it lacks the form and cannot be written, yield a temporary folder.

    A loaded library no longer needs its file.
    """
    if find_kept(library_stem(form), directory):
        yield directory
        return
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        logger.warning("the kernels are compiled again at every start: %s", error)
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
    else:
        yield directory
