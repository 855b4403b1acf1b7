"""The JSON API of runs of saved requests: begin, show or stop a set."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse, JsonResponse
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from webapp.api.requests import find
from webapp.api.view import api
from webapp.celery import app
from webapp.gateway.body import read_body
from webapp.gateway.errors import ApiError, not_found, user_id
from webapp.lifecycle.admission import lock_user
from webapp.requests import services
from webapp.requests.input import SavedInput
from webapp.requests.models import Request
from webapp.requests.params import checked_params
from webapp.reruns import saved
from webapp.reruns.advance import stop, will_run_again
from webapp.reruns.models import Rerun, Run
from webapp.reruns.plan import Grid, PlanError, PlannedRun, plan
from webapp.traces import store

_MAX_WAITING = 256
"""Waiting runs that one user may have: hours of the bundled model's work."""


class RerunBody(msgspec.Struct, forbid_unknown_fields=True):
    """The runs to make of a request. Defaults: one run with the same settings and seed."""

    n: int = 1
    seeds: Literal["same", "fresh"] = "same"
    grid: Grid = Grid()


@api("GET", "POST")
def of_request(request: HttpRequest, request_id: str) -> HttpResponse:
    """GET: the sets of a saved request, newest first. POST: begin a new set."""
    found = find(request, request_id)
    if request.method == "POST":
        return _create(found, read_body(request, RerunBody))
    runs = Prefetch("runs", Run.objects.only("rerun_id", "index", "num_tries", "request_id"))
    requests = Prefetch("runs__request", Request.objects.only("status", "finished_at", "error_code"))
    listed = found.reruns.order_by("-created_at").defer("input").prefetch_related(runs, requests)
    return JsonResponse({"reruns": [_head(rerun, list(rerun.runs.all())) for rerun in listed]})


def _create(found: Request, body: RerunBody) -> HttpResponse:
    given = _saved(found)
    check = saved.check(given, services.prompt_services(), settings.ENVIRONMENT.model_name)
    runs = _planned(given, body)
    source = _input(found, given)
    with transaction.atomic():
        lock_user(found.user_id)  # two sets posted at once are created one after the other
        waiting = Run.objects.filter(rerun__user_id=found.user_id, rerun__stopped_at=None, request=None)
        if (num_waiting := waiting.count()) + len(runs) > _MAX_WAITING:
            message = (
                f"{num_waiting} of your runs are waiting; the limit is {_MAX_WAITING}. Let some end, or stop a set."
            )
            raise ApiError(429, "too_many_requests", message, retry_after_s=60)
        rerun = Rerun.objects.create(
            user_id=found.user_id,
            original=found,
            title=found.title,
            model=found.model,
            input=source,
            params=msgspec.to_builtins(given.params),
            seeds=body.seeds,
            n=body.n,
            grid=msgspec.to_builtins(body.grid),
            prompt_check=check.as_json(),
        )
        Run.objects.bulk_create(
            Run(rerun=rerun, index=index, settings=run.settings, params=msgspec.to_builtins(run.params))
            for index, run in enumerate(runs)
        )
    with suppress(OperationalError, RedisError, OSError):  # the lifecycle worker also checks every few seconds
        app.send_task("reruns.advance", args=[rerun.pk])
    return JsonResponse(_as_json(rerun), status=201)


def _input(found: Request, given: saved.Saved) -> SavedInput:
    """The runs' input. Runs of an imported trace carry its segments, which no safety check here has seen."""
    is_whole = any(message.source == saved.WHOLE for message in found.input.messages)
    return given.as_input(found.is_imported or is_whole)


def _saved(found: Request) -> saved.Saved:
    if not found.is_settled:
        raise ApiError(409, "still_running", "The request is still running. Wait for its end, or stop it.")
    frames = store.load_frames(found.pk)
    if not frames:
        raise not_found("saved trace")
    return saved.read(event for frame in frames for event in frame.events)


def _planned(given: saved.Saved, body: RerunBody) -> list[PlannedRun]:
    if body.seeds == "same" and given.params.seed is None:
        message = "The trace has no seed, so its draws cannot be repeated. Ask for fresh seeds."
        raise ApiError(409, "no_seed", message, "seeds")
    try:
        runs = plan(given.params, body.grid, body.n, body.seeds == "fresh")
    except PlanError as error:
        raise ApiError(400, "invalid", str(error), error.field) from None
    num_kept = len(given.forked.ids) if given.forked is not None else 0
    for run in runs:
        _check_params(run)
        if run.params.max_tokens <= num_kept:
            message = f"max_tokens must be more than {num_kept}: so many tokens the fork was given."
            raise ApiError(400, "invalid", message, "grid.max_tokens")
    return runs


def _check_params(run: PlannedRun) -> None:
    try:
        checked_params(run.params)
    except ApiError as error:
        name = (error.field or "").removeprefix("params.")
        field = f"grid.{name}" if name in run.settings else error.field
        raise ApiError(error.status, error.code, error.message, field) from None


@api("GET")
def show(request: HttpRequest, rerun_id: str) -> HttpResponse:
    return JsonResponse(_as_json(_find(request, rerun_id)))


@api("POST")
def cancel(request: HttpRequest, rerun_id: str) -> HttpResponse:
    """Stop the set; does nothing when it has ended."""
    rerun = _find(request, rerun_id)
    stop(rerun)
    return JsonResponse(_as_json(_find(request, rerun_id)), status=202)


def _find(request: HttpRequest, rerun_id: str) -> Rerun:
    found = Rerun.objects.filter(pk=rerun_id, user_id=user_id(request)).defer("input").first()
    if found is None:
        raise not_found("set of runs")
    return found


def _head(rerun: Rerun, runs: list[Run]) -> dict[str, Any]:
    states = [_state(rerun, run) for run in runs]
    return {
        "id": rerun.pk,
        "created_at": rerun.created_at.isoformat(),
        "seeds": rerun.seeds,
        "n": rerun.n,
        "grid": rerun.grid,
        "state": _state_of_all(rerun, states),
        "num_runs": len(states),
    }


def _as_json(rerun: Rerun) -> dict[str, Any]:
    runs = list(rerun.runs.select_related("request").defer("request__input", "request__output_text"))
    rows = [
        {
            "index": run.index,
            "settings": run.settings,
            "seed": run.params.get("seed"),
            "state": _state(rerun, run),
            "num_tries": run.num_tries,
            "request": run.request.summary() if run.request else None,
        }
        for run in runs
    ]
    more = {
        "request_id": rerun.original_id,
        "title": rerun.title,
        "model": rerun.model,
        "params": rerun.params,
        "prompt": rerun.prompt_check,
        "runs": rows,
    }
    return _head(rerun, runs) | more


def _state(rerun: Rerun, run: Run) -> str:
    """waiting (also to run again), running, or the final status; a run that never began in a stopped set is stopped."""
    if run.request is None or will_run_again(rerun, run):
        return "waiting" if rerun.stopped_at is None else "stopped"
    return run.request.status if run.request.is_settled else "running"


def _state_of_all(rerun: Rerun, states: list[str]) -> str:
    if any(state in ("waiting", "running") for state in states):
        return "running" if rerun.stopped_at is None else "stopping"
    return "done" if rerun.stopped_at is None else "stopped"
