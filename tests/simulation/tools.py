"""The simulated tools, and what they did: how often each call ran, and whether it might."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from inference.protocol.events import AnyEvent, ToolApproved, ToolCalled, ToolFinished
from inference.protocol.tool_calls import Tool
from tests.simulation.checks import Checks, Story
from tests.simulation.processes import Guard, prompt_events
from tests.simulation.questions import NOTE, READ, WRITE, next_prompt
from tests.simulation.world import World
from webapp.lifecycle import asking, tool_calls
from webapp.requests import services
from webapp.requests.rounds import flags_of
from webapp.tools import catalog
from webapp.tools.tool import Asker, BuiltIn

FEATURES = flags_of((READ, NOTE, WRITE), (WRITE,))
_DECISION_S = 5
"""Time for a simulated user's decision."""
_MOST_S = 0.5
_TOKENIZER = SimpleNamespace(encode=lambda _text: [])


class Tools:
    """The tools of one run."""

    def __init__(self, world: World, checks: Checks) -> None:
        self._world = world
        self._checks = checks
        self.ran: Counter[tuple[str, str, int]] = Counter()
        """Runs of each call: request, tool, rounds that were left."""

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Put them in the place of the catalog's, and the world in the place of threads and tokenizer."""
        for module in (tool_calls, catalog):
            patch.setattr(module, "time", self._world)
        tools = {name: self._tool(name) for name in (READ, NOTE, WRITE)}
        patch.setattr(catalog, "TOOLS", tools)
        patch.setattr(asking, "APPROVAL_S", _DECISION_S)
        patch.setattr(tool_calls, "connections", SimpleNamespace(close_all=lambda: None))
        patch.setattr(services, "background_pool", _Pool)
        patch.setattr(services, "guard", lambda _user=None: Guard())
        assembler = SimpleNamespace(go_on=lambda round_, *_: next_prompt(round_.prompt.ids))
        patch.setattr(tool_calls, "served", lambda _: SimpleNamespace(assembler=assembler, tokenizer=_TOKENIZER))
        patch.setattr(tool_calls, "packing_events", lambda _, prompt, at, __: prompt_events(prompt, at))

    def _tool(self, name: str) -> BuiltIn:
        run = self._runner(name)
        return BuiltIn(Tool(name=name), name, run, needs_approval=name == WRITE, is_repeatable=name == READ)

    def _runner(self, name: str) -> Callable[[Mapping[str, Any], Asker], str]:
        def run(arguments: Mapping[str, Any], asker: Asker) -> str:
            self._world.travel()  # a fault may strike before
            self._ran(name, asker.request_id, int(arguments["round"]))
            self._world.wrote()
            self._world.pause(self._world.random.uniform(0, _MOST_S))
            self._world.travel()  # and after
            return "done"

        return run

    def _ran(self, name: str, request_id: str, left: int) -> None:
        self.ran[request_id, name, left] += 1
        story = self._checks.stories[request_id]
        self._world.tell("runs %s of %s, round %d", name, request_id, left)
        if story.has_lost_its_end or name == READ:
            return
        if self.ran[request_id, name, left] > 1:
            self._checks.fail("%s of %s is run twice", name, request_id)
        if name == WRITE and not _is_approved(story, left):
            self._checks.fail("%s of %s is run without approval", name, request_id)

    def audit(self) -> None:
        """Check that each result tells what happened to its call."""
        for request_id, story in self._checks.stories.items():
            if story.has_lost_its_end:
                continue
            results = [event for event in story.events if isinstance(event, ToolFinished)]
            if len({event.call_id for event in results}) < len(results):
                self._checks.fail("a call of %s has two results", request_id)
            for result in results:
                self._audit(request_id, story, result)

    def _audit(self, request_id: str, story: Story, result: ToolFinished) -> None:
        name = (READ, NOTE, WRITE)[int(result.call_id.rpartition("_")[2])]
        num_runs = self.ran[request_id, name, story.question.num_rounds - result.generation]
        is_called = any(isinstance(event, ToolCalled) and event.call_id == result.call_id for event in story.events)
        is_known = not result.result.startswith("Unknown")
        if is_known and (num_runs > 0) != (result.result == "done"):
            self._checks.fail("%s of %s ran %d times, and gave %r", name, request_id, num_runs, result.result)
        if is_called is (result.result.startswith("Not run")):
            self._checks.fail("%s of %s was not announced as it ran", name, request_id)


def _is_approved(story: Story, left: int) -> bool:
    number = story.question.num_rounds - left

    def is_own(event: AnyEvent) -> bool:
        return isinstance(event, ToolApproved) and event.generation == number

    return any(map(is_own, story.events))


class _Pool:
    """Runs what is submitted at once, in the present thread."""

    def submit(self, run: Callable[..., Any], *given: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(run(*given))
        return future
