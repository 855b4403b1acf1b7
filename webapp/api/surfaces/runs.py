"""Operations on runs of saved requests: begin, show or stop a set."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any, Literal

import msgspec
from django.db import transaction
from django.db.models import Prefetch
from django.http import HttpRequest
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from inference.protocol.request import SamplingParams
from webapp.api.requests.requests import find
from webapp.celery import app
from webapp.ground.gateway.answer import Answer
from webapp.ground.gateway.errors import ApiError, not_found, user_id
from webapp.ground.gateway.idempotency import Key
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Result
from webapp.identity.keys.keys import check_scope
from webapp.identity.keys.middleware import key_of
from webapp.identity.keys.models import ApiKey
from webapp.lifecycle.admission import lock_user
from webapp.lifecycle.refusals import note_refused
from webapp.models.registry.offered import check_offered, is_offered
from webapp.requests import services
from webapp.requests.delivery import claim, once
from webapp.requests.input import SavedInput
from webapp.requests.models import Request
from webapp.requests.params import checked_params
from webapp.requests.services import PromptServices
from webapp.requests.summary import RequestSummary, status, summary
from webapp.surfaces.runs import models, saved_prompt
from webapp.surfaces.runs.advance import stop, will_run_again
from webapp.surfaces.runs.plan import Grid, PlanError, PlannedRun, plan
from webapp.surfaces.runs.saved_prompt import PromptCheck
from webapp.traces import store
from webapp.usage.limits.refusal import Refused
from webapp.usage.limits.rules import check_flag, check_sending

_MAX_WAITING = 256
"""Waiting runs that one user may have: hours of the bundled model's work."""


class RerunPlan(Body):
    """The runs to make of a request: the values of each setting, and the runs of each combination, 64 in all at most.

    Defaults: one run with the same settings and seed.
    """

    n: int = 1
    seeds: Literal["same", "fresh"] = "same"
    grid: Grid = Grid()
    model: str | None = None
    """An offered model with the tokenizer of the saved prompt; null: the saved request's."""


RunState = Literal["waiting", "running", "done", "stopped", "withheld", "blocked", "failed"]


class Run(Result):
    """One run of a set. A deleted run, and one that never began in a stopped set, has no request."""

    index: int
    settings: dict[str, float]
    """The values that the grid sets for it."""
    seed: int | None
    state: RunState
    num_tries: int
    request: RequestSummary | None


class RerunHead(Result):
    """A set of runs, without them."""

    id: str
    created_at: datetime
    model: str
    """Runs the prompt; it may be another one than the saved request's."""
    seeds: Literal["same", "fresh"]
    n: int
    grid: Grid
    state: Literal["running", "stopping", "stopped", "done"]
    stop_reason: str
    """The limit that a run asks more of than it ever holds; empty: the user stopped the set, or it is not stopped."""
    num_runs: int


class RerunList(Result):
    """The sets of runs of one request, newest first."""

    reruns: list[RerunHead]


class RerunSet(RerunHead):
    """A set of runs."""

    request_id: str | None
    """The saved request; null: it is gone."""
    title: str
    params: SamplingParams
    prompt: PromptCheck
    runs: list[Run]


def list_reruns(request: HttpRequest, request_id: str) -> RerunList:
    """List the sets of runs of a saved request."""
    found = find(request, request_id)
    runs = Prefetch("runs", models.Run.objects.only("rerun_id", "index", "num_tries", "request_id"))
    requests = Prefetch("runs__request", Request.objects.only("status", "finished_at", "error_code"))
    listed = found.reruns.order_by("-created_at").defer("input").prefetch_related(runs, requests)
    return RerunList(reruns=[RerunHead(**_head(rerun, list(rerun.runs.all()))) for rerun in listed])


@answers(201)
def create_rerun(request: HttpRequest, request_id: str, body: RerunPlan, key: Key | None) -> Answer[RerunSet]:
    """Begin a set of runs of a saved request. Its tools are called again.

    One run asks about calls that change something; a set of several declines them.
    409 `still_running`, `trace_unreadable`, `no_prompt`, `no_seed`, `too_long`, `model_unavailable`,
    `other_tokenizer`;
    422 `key_reused`; 429 `too_many_requests` (256 waiting runs); 403 `sending_stopped`, `switched_off`.
    """
    found = find(request, request_id)
    done = once(
        key,
        lambda: _begin(found, body, key, key_of(request)),
        lambda ids: models.Rerun.objects.filter(pk__in=ids).first(),
    )
    return Answer(_shown(done.made), is_repeat=done.is_repeat)


def _begin(found: Request, body: RerunPlan, key: Key | None, api_key: ApiKey | None) -> models.Rerun:
    """Save a set of runs and have its first ones begun. Raises ApiError, OutOfScope, Refused, CannotRerun."""
    _check_allowed(found, api_key)
    given = _saved(found)
    model = given.model if body.model is None else body.model
    check_scope(api_key, "chat", model)
    check = saved_prompt.check(given, _served(given, body.model))
    runs = _planned(given, body, model)
    rerun = models.Rerun(
        user_id=found.user_id,
        key=api_key,
        original=found,
        title=found.title,
        model=model,
        input=_input(found, given, may_ask=len(runs) == 1),
        params=msgspec.to_builtins(given.params),
        seeds=body.seeds,
        n=body.n,
        grid=msgspec.to_builtins(body.grid),
        prompt_check=msgspec.to_builtins(check),
    )
    with transaction.atomic():
        claim(key, [rerun.pk])
        _check_waiting(found.user_id, len(runs))
        rerun.save(force_insert=True)
        models.Run.objects.bulk_create(
            models.Run(rerun=rerun, index=index, settings=run.settings, params=msgspec.to_builtins(run.params))
            for index, run in enumerate(runs)
        )
    with suppress(OperationalError, RedisError, OSError):  # the lifecycle worker also checks every few seconds
        app.send_task("reruns.advance", args=[rerun.pk])
    return rerun


def _check_waiting(user_id: int, num_new: int) -> None:
    """Raises ApiError. Two sets posted at once are checked one after the other."""
    lock_user(user_id)
    waiting = models.Run.objects.filter(rerun__user_id=user_id, rerun__stopped_at=None, request=None)
    if (num_waiting := waiting.count()) + num_new > _MAX_WAITING:
        message = f"{num_waiting} of your runs are waiting; the limit is {_MAX_WAITING}. Let some end, or stop a set."
        raise ApiError(429, "too_many_requests", message, retry_after_s=60)


def _check_allowed(found: Request, api_key: ApiKey | None) -> None:
    """Raises Refused, which the record of use keeps."""
    try:
        check_sending(found.user_id)
        check_flag(found.user_id, "may_rerun")
    except Refused as refused:
        run = Request(user_id=found.user_id, key=api_key, surface="replay", model=found.model)
        note_refused([run], refused)
        raise


def _input(found: Request, given: saved_prompt.SavedPrompt, may_ask: bool) -> SavedInput:
    """The runs' input. One run asks its user about calls that change something. Several decline them.

    Runs of an imported trace carry its segments, which no safety check here has seen."""
    is_whole = any(message.source == saved_prompt.WHOLE for message in found.input.messages)
    return given.as_input(found.is_imported or is_whole, may_ask)


def _saved(found: Request) -> saved_prompt.SavedPrompt:
    if not found.is_settled:
        raise ApiError(409, "still_running", "The request is still running. Wait for its end, or stop it.")
    frames = store.load_frames(found.pk)
    if not frames:
        raise not_found("saved trace")
    return saved_prompt.read(event for frame in frames for event in frame.events)


def _served(given: saved_prompt.SavedPrompt, model: str | None) -> PromptServices:
    """The services of the model that runs the prompt. model: the chosen one. Raises ApiError, NotOffered."""
    if model is None:
        check_offered(given.model)
        return services.prompt_services(given.model)
    if not is_offered(model):
        raise ApiError(400, "invalid", f"No model {model[:100]!r} is offered. Choose another model.", "model")
    found = services.prompt_services(model)
    if model != given.model and found.tokenizer.version != given.prompt.version:
        message = f"{model} has another tokenizer than the saved prompt, so its ids would mean other words."
        raise ApiError(400, "invalid", f"{message} Choose a model with the same tokenizer.", "model")
    return found


def _planned(given: saved_prompt.SavedPrompt, body: RerunPlan, model: str) -> list[PlannedRun]:
    if body.seeds == "same" and given.params.seed is None:
        message = "The trace has no seed, so its draws cannot be repeated. Ask for fresh seeds."
        raise ApiError(409, "no_seed", message, "seeds")
    try:
        runs = plan(given.params, body.grid, body.n, body.seeds == "fresh")
    except PlanError as error:
        raise ApiError(400, "invalid", str(error), error.field) from None
    forked = given.forked
    num_kept = len(forked.ids) + sum(each.num_tokens for each in forked.rounds) if forked is not None else 0
    for run in runs:
        _check_params(run, model)
        if run.params.max_tokens <= num_kept:
            message = f"max_tokens must be more than {num_kept}: so many tokens the fork was given."
            raise ApiError(400, "invalid", message, "grid.max_tokens")
    return runs


def _check_params(run: PlannedRun, model: str) -> None:
    try:
        checked_params(run.params, model)
    except ApiError as error:
        name = (error.field or "").removeprefix("params.")
        field = f"grid.{name}" if name in run.settings else error.field
        raise ApiError(error.status, error.code, error.message, field) from None


def show_rerun(request: HttpRequest, rerun_id: str) -> RerunSet:
    """Show a set of runs."""
    return _shown(_find(request, rerun_id))


@answers(202)
def stop_rerun(request: HttpRequest, rerun_id: str) -> RerunSet:
    """Stop a set of runs; does nothing when it has ended."""
    stop(_find(request, rerun_id))
    return _shown(_find(request, rerun_id))


def _find(request: HttpRequest, rerun_id: str) -> models.Rerun:
    found = models.Rerun.objects.filter(pk=rerun_id, user_id=user_id(request)).defer("input").first()
    if found is None:
        raise not_found("set of runs")
    return found


def _head(rerun: models.Rerun, runs: list[models.Run]) -> dict[str, Any]:
    """The fields of RerunHead."""
    states = [_state(rerun, run) for run in runs]
    return {
        "id": rerun.pk,
        "created_at": rerun.created_at,
        "model": rerun.model,
        "seeds": rerun.seeds,
        "n": rerun.n,
        "grid": msgspec.convert(rerun.grid, Grid),
        "state": _state_of_all(rerun, states),
        "stop_reason": rerun.stop_reason,
        "num_runs": len(states),
    }


def _shown(rerun: models.Rerun) -> RerunSet:
    runs = list(rerun.runs.select_related("request").defer("request__input", "request__output_text"))
    return RerunSet(
        **_head(rerun, runs),
        request_id=rerun.original_id,
        title=rerun.title,
        params=msgspec.convert(rerun.params, SamplingParams),
        prompt=msgspec.convert(rerun.prompt_check, PromptCheck),
        runs=[_run(rerun, run) for run in runs],
    )


def _run(rerun: models.Rerun, run: models.Run) -> Run:
    return Run(
        index=run.index,
        settings=run.settings,
        seed=run.params.get("seed"),
        state=_state(rerun, run),
        num_tries=run.num_tries,
        request=summary(run.request) if run.request else None,
    )


def _state(rerun: models.Rerun, run: models.Run) -> RunState:
    """waiting (also to run again), running, or the final status; a run that never began in a stopped set is stopped."""
    if run.request is None or will_run_again(rerun, run):
        return "waiting" if rerun.stopped_at is None else "stopped"
    if not run.request.is_settled:
        return "running"
    ended = status(run.request)
    assert ended != "queued"
    return ended


def _state_of_all(rerun: models.Rerun, states: list[RunState]) -> str:
    if any(state in ("waiting", "running") for state in states):
        return "running" if rerun.stopped_at is None else "stopping"
    return "done" if rerun.stopped_at is None else "stopped"
