"""Finds the rows that belong to a user, by the database's own foreign keys: a new table needs no line here.

A row whose foreign key would go with the account (CASCADE) is the user's. A row that the account may not leave
(PROTECT) is the site's: numbers that bills and sums need. A row that outlives its user (SET_NULL) tells of something
else: an operator's rule, or an act on other users. Knows nothing of the rows' content.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db.models import CASCADE, SET_NULL, ForeignObjectRel, Model, QuerySet

_OF_THE_SITE: tuple[type[Model], ...] = (LogEntry,)
"""Django's own history of the tables: an operator's acts stay, though its foreign key would let them go."""


@dataclass(frozen=True)
class Holding:
    """A table with rows of users."""

    model: type[Model]
    path: str
    """The lookup that leads from a row to its user: `conversation__user`."""
    goes: bool
    """The user's rows go with the user's data."""
    is_exported: bool
    """The rows tell of the user. Others name the user alone as the operator who acted."""

    @property
    def label(self) -> str:
        return self.model._meta.label_lower

    @property
    def is_direct(self) -> bool:
        """The row names the user itself, and does not go with a row that does."""
        return "__" not in self.path

    def rows(self, user_id: int) -> QuerySet[Any]:
        return self.model._base_manager.filter(**{self.path: user_id})


@cache
def holdings() -> tuple[Holding, ...]:
    """Every table with rows of users, nearest to the user first.

    A table that names users in several columns stands here for each. A table below one that goes stands here once.
    """
    found = [_direct(relation) for relation in _relations(User)]
    known = {holding.model for holding in found}
    for parent in found:
        for relation in _relations(parent.model) if parent.goes else ():
            if relation.on_delete is CASCADE and relation.related_model not in known:
                known.add(relation.related_model)
                found.append(
                    Holding(
                        relation.related_model, f"{relation.field.name}__{parent.path}", goes=True, is_exported=True
                    )
                )
    return tuple(found)


def _direct(relation: Any) -> Holding:
    is_act = relation.on_delete is SET_NULL or relation.related_model in _OF_THE_SITE
    goes = relation.on_delete is CASCADE and not is_act
    return Holding(relation.related_model, relation.field.name, goes, is_exported=not is_act)


def _relations(model: type[Model]) -> Iterator[Any]:
    """The foreign keys that lead to this model."""
    for field in model._meta.get_fields(include_hidden=True):
        if not isinstance(field, ForeignObjectRel) or field.many_to_many:
            continue
        if field.related_model is not None and not field.related_model._meta.proxy:
            yield field
