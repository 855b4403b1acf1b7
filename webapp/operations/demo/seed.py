"""Demonstration data: two months of usage by invented users, some of it with conversations and traces.

Figures come from recorded requests of the bundled model. Every record is marked, so that one command removes them all.
Knows nothing of how requests run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from django.contrib.auth.models import Group, User
from django.db import transaction

from webapp.ground.audit.log import unrecorded
from webapp.models.billing.models import LedgerEntry
from webapp.operations.demo.copies import Copy, Place, copy_of
from webapp.operations.demo.prices import PREFIX, remove_prices, set_prices
from webapp.operations.demo.recorded_conversations import RecordedConversation, Recording, read
from webapp.operations.demo.traffic import TEAMS, Occurrence, Team, traffic
from webapp.requests.models import Request
from webapp.surfaces.chat.models import Conversation, Message
from webapp.traces import store
from webapp.usage.models import UsageRecord
from webapp.usage.roll_up import recount_day

_SEED = 7
_SHARES = {"waited": 1.0, "lost": 1.0, "blocked": 0.2, "uncached": 0.12, "usual": 0.02}
"""Share of the requests of each kind in whose place a recorded conversation stands, with its traces."""
_LATEST, _SHARE_OF_LATEST = timedelta(days=2), 0.3
"""The last days, to which an operator looks first, have more traces."""
_AT_ONCE = 500


@dataclass(frozen=True)
class Seeded:
    """What a seeding wrote."""

    num_records: int
    num_traces: int


def seed(now: datetime, num_days: int) -> Seeded:
    """Write the records of the days up to now, after removing earlier ones."""
    last = now.astimezone(UTC).date()
    days = [last - timedelta(days=number) for number in reversed(range(num_days))]
    with unrecorded():
        with transaction.atomic():
            remove()
            teams = [(team, _users(team)) for team in TEAMS]
            set_prices()
        # Outside of transactions: on SQLite all other writers would wait for it.
        occurrences = (each for each in traffic(Random(_SEED), teams, days) if each.record.accepted_at <= now)
        made = list(_with_copies(occurrences, now))
        copies = [each for each in made if isinstance(each, Copy)]
        records = [record for each in made for record in (each.records if isinstance(each, Copy) else [each])]
        with transaction.atomic():
            _save(copies)
            UsageRecord.objects.bulk_create(records, batch_size=_AT_ONCE)
            _recount(records)
    return Seeded(len(records), sum(len(copy.requests) for copy in copies))


def remove() -> int:
    """Remove all that `seed` has written. Returns the number of records."""
    with transaction.atomic(), unrecorded():
        marked = UsageRecord.objects.filter(is_demo=True)
        records = list(marked.only("accepted_at"))
        requests = Request.objects.filter(pk__in=marked.values("request_id"))
        Conversation.objects.filter(messages__request__in=requests).delete()
        requests.delete()
        marked.delete()
        _recount(records)
        remove_prices()
        _remove_users()
    return len(records)


def _remove_users() -> None:
    """Remove the users and groups. A user in whose name real requests were made stays, with the group."""
    users = User.objects.filter(groups__name__startswith=PREFIX, username__startswith=PREFIX)
    users = users.exclude(pk__in=UsageRecord.objects.values("user"))
    users.exclude(pk__in=LedgerEntry.objects.values("user")).delete()
    Group.objects.filter(name__startswith=PREFIX, user=None).delete()


def _recount(records: Iterable[UsageRecord]) -> None:
    days = {record.accepted_at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) for record in records}
    for day in sorted(days):
        recount_day(day)


def _users(team: Team) -> list[User]:
    group, _ = Group.objects.get_or_create(name=team.name)
    return [_user(f"{team.name}-{number + 1}", group) for number in range(team.num_users)]


def _user(name: str, group: Group) -> User:
    """A user without a password: a new one, or one that the last removal left."""
    user = User.objects.filter(username=name, groups=group).first() or User.objects.create_user(name)
    user.groups.add(group)
    return user


def _with_copies(occurrences: Iterable[Occurrence], now: datetime) -> Iterator[UsageRecord | Copy]:
    """Each resampled record, or in its place a recorded conversation of its kind."""
    random, recording = Random(_SEED), read()
    for each in occurrences:
        record, copy = each.record, None
        if (chosen := _chosen(random, recording, each, now)) is not None:
            copy = copy_of(recording, chosen, Place(record.user, record.accepted_at, record.worker))
        yield record if copy is None or copy.end > now else copy


def _chosen(random: Random, recording: Recording, each: Occurrence, now: datetime) -> RecordedConversation | None:
    """The conversation to stand in the request's place; None: the resampled record stays."""
    found = recording.of(each.kind, each.record.model)
    if not found or each.record.surface != "chat":
        return None
    chosen = random.choice(found)
    # A conversation of three requests stands in the place of three, so that the days keep their number of requests.
    return chosen if random.random() * chosen.num_requests < _share(each, now) else None


def _share(each: Occurrence, now: datetime) -> float:
    is_latest = each.kind == "usual" and each.record.accepted_at > now - _LATEST
    return _SHARE_OF_LATEST if is_latest else _SHARES[each.kind]


def _save(copies: list[Copy]) -> None:
    Conversation.objects.bulk_create([copy.conversation for copy in copies], _AT_ONCE)
    requests = [request for copy in copies for request in copy.requests]
    Request.objects.bulk_create(requests, _AT_ONCE)
    Message.objects.bulk_create([message for copy in copies for message in copy.messages], _AT_ONCE)
    traces = [trace for copy in copies for trace in copy.traces]
    store.save_all_packed(list(zip(requests, traces, strict=True)))
