"""A user with something in every kind of table, as the site writes it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import redis
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from inference.eventlog.clock import unix_us
from inference.protocol.codec import decode_frame
from inference.protocol.events import Frame
from inference.protocol.request import Usage
from tests.webapp.inputs import SAVED, asked
from webapp.content.memory.memories import remember
from webapp.identity.keys.keys import New, create
from webapp.identity.keys.models import ApiKey
from webapp.identity.presets.models import Preset
from webapp.lifecycle.probes.models import save
from webapp.models.billing.bill import post_bill
from webapp.requests.models import Request
from webapp.requests.outcome import fold
from webapp.surfaces.chat.models import Conversation, Message, NewChats
from webapp.surfaces.runs.models import Rerun, Run
from webapp.traces import store
from webapp.traces.models import Entry, RetentionRule, SavedView, Tag
from webapp.usage.record import NO_COST, record_use

GOLDEN = Path(__file__).parents[3] / "golden" / "logs" / "finished.json"
WORD = "zqxjkvbp"
"""Stands in everything that the user writes."""


@dataclass
class Held:
    """A user, the client that is signed in as the user, and requests by what they are."""

    user: User
    client: Client
    key: New
    requests: dict[str, Request] = field(default_factory=dict)


def golden() -> list[Frame]:
    return [decode_frame(json.dumps(frame)) for frame in json.loads(GOLDEN.read_text("utf-8"))["frames"]]


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def settled(user: User, word: str, key: ApiKey | None = None) -> Request:
    """A saved request with its bill and its record."""
    request = Request.objects.create(
        user=user,
        key=key,
        surface="chat",
        model="m",
        title=word,
        input=asked(word),
        output_text=word,
        status="done",
        finished_at=timezone.now(),
        accepted_unix_us=unix_us(),
    )
    frames = golden()
    store.save(request, frames)
    save(request.pk, "lens", 1, json.dumps({"word": word}).encode())
    post_bill(request.pk, user.pk, "m", Usage(output=5))
    record_use(request, fold(frames), NO_COST)
    return request


def fill(name: str, word: str) -> Held:
    user = User.objects.create_user(f"{name}{word}", f"{word}@example.org", "a long password", first_name=word.title())
    held = Held(user, signed_in(user), create(user.pk, word))
    user.groups.add(Group.objects.get_or_create(name="guests")[0])
    request = held.requests["settled"] = settled(user, word, held.key.key)
    conversation = Conversation.objects.create(user=user, model="m", title=word, system_prompt=word)
    question = Message.objects.create(conversation=conversation, role="user", user_text=word)
    Message.objects.create(conversation=conversation, role="assistant", request=request, parent=question)
    NewChats.objects.create(user=user, tools=[word])
    Preset.objects.create(user=user, name=word, params={"stop": [word]})
    remember(user.pk, f"My {word} is blue")
    SavedView.objects.create(user=user, name=word, query=f"q={word}")
    RetentionRule.objects.create(user=user, keep_days=99)
    entry = Entry.objects.get(pk=request.pk)
    Tag.objects.create(entry=entry, name=word)
    Entry.objects.filter(pk=request.pk).update(note=word)
    rerun = Rerun.objects.create(
        user=user, title=word, model="m", input=SAVED, params={}, seeds="same", n=1, prompt_check={}, original=request
    )
    run = held.requests["run"] = settled(user, word)
    Run.objects.create(rerun=rerun, index=0, params={}, request=run)
    held.requests["loose"] = settled(user, word)
    return held


@pytest.fixture
def anna(redis_client: redis.Redis) -> Held:
    return fill("anna", WORD)


@pytest.fixture
def bert(redis_client: redis.Redis) -> Held:
    """Another user, whose things stay."""
    return fill("bert", "mnwrtpls")


@pytest.fixture
def root(redis_client: redis.Redis) -> Client:
    return signed_in(User.objects.create_superuser("root"))
