"""The safety policy on the desk: the effect on saved decisions first, then the versions, in force without a restart."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import redis
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.events import AnyEvent, Frame, SafetyChecked, SafetyScore
from inference.protocol.safety_policy import FOUND, LAYERS, Layer, Policy
from inference.safety.judging import judge, weight, worst
from tests.webapp.at_once import called_during, on_postgres
from tests.webapp.surfaces.chat.test_forks import asked_of_workers, post, sign_in
from webapp.ground.audit.listing import Change, listing
from webapp.lifecycle.tasks import prepare
from webapp.models.safety.in_force import file_policy, save, saved_policy
from webapp.models.safety.models import PolicyVersion
from webapp.requests import services
from webapp.requests.models import Request
from webapp.traces import store
from webapp.traces.library.decisions import judged_again

pytestmark = pytest.mark.django_db(transaction=True)

POLICY = file_policy()


def checked(layer: Layer, policy: Policy = POLICY, **scores: float) -> SafetyChecked:
    """A check of one sentence with these scores, as a worker records it; all others are 0."""
    judged = judge(policy, layer, dict.fromkeys(policy.thresholds(layer).flag, 0.0) | scores)
    verdict = max(judged, key=weight).verdict
    known = {"classifier": "c", "version": "4", "policy": policy.label, "start": 0, "end": 1, "duration_us": 1}
    return SafetyChecked(at=1, layer=layer, scores=tuple(judged), verdict=verdict, **known)  # type: ignore[arg-type]


def saved(user: User, *events: AnyEvent, title: str = "T") -> str:
    verdict = worst(event.verdict for event in events if isinstance(event, SafetyChecked))
    request = Request.objects.create(
        user=user, surface="chat", model="m", title=title, safety_verdict=verdict, finished_at=timezone.now()
    )
    store.save(request, [Frame(seq=1, events=events)])
    return request.pk


@pytest.fixture
def anna(redis_client: redis.Redis) -> User:
    return User.objects.create_user("anna")


@pytest.fixture
def operator(redis_client: redis.Redis) -> Client:
    user = User.objects.create_user("otto", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="change_policyversion"))
    client = Client()
    client.force_login(user)
    return client


def thresholds(**changed: float | None) -> dict[str, Any]:
    """Those of the file with other values: input_block_violence=0.5; None takes one away."""
    found: dict[str, Any] = {layer: msgspec.to_builtins(POLICY.thresholds(layer)) for layer in LAYERS} | {"groups": {}}
    for name, value in changed.items():
        layer, action, category = name.split("_", 2)
        if value is None:
            del found[layer][action][category]
        else:
            found[layer][action][category] = value
    return found


def preview(client: Client, **changed: float | None) -> Any:
    return client.post("/api/safety/preview", thresholds(**changed), content_type="application/json")


def put(client: Client, after: int | None = None, note: str = "", **changed: float | None) -> Any:
    body = {"thresholds": thresholds(**changed), "after": after, "note": note}
    return client.put("/api/safety", body, content_type="application/json")


def test_the_preview_tells_which_requests_would_be_judged_otherwise(operator: Client, anna: User) -> None:
    mild = saved(anna, checked("input", violence=0.7), checked("output", violence=0.1))
    saved(anna, checked("input", violence=0.9))
    late = saved(anna, checked("input"), checked("output", hate=0.1), checked("output", hate=0.6))
    saved(anna, checked("input"))
    same = preview(operator).json()
    assert (same["num_read"], same["num_decisions"], same["num_unknown"], same["changes"]) == (4, 4, 0, [])
    assert same["before"] == same["after"] == {"allow": 1, "flag": 2, "rewrite": 0, "block": 1}
    found = preview(operator, input_block_violence=0.65, output_flag_hate=0.7).json()
    changes = {(each["before"], each["after"]): each["examples"] for each in found["changes"]}
    assert [each["request_id"] for each in changes["flag", "block"]] == [mild]
    assert [each["request_id"] for each in changes["flag", "allow"]] == [late]
    assert found["after"] == {"allow": 2, "flag": 0, "rewrite": 0, "block": 2}
    assert not PolicyVersion.objects.exists()


def test_texts_are_shown_only_with_the_permission_to_read(operator: Client, anna: User) -> None:
    saved(anna, checked("input", violence=0.7), title="a private matter")
    (change,) = preview(operator, input_block_violence=0.65).json()["changes"]
    assert (change["examples"][0]["user"], change["examples"][0]["title"]) == ("anna", None)
    User.objects.get(username="otto").user_permissions.add(Permission.objects.get(codename="view_any_trace"))
    (change,) = preview(operator, input_block_violence=0.65).json()["changes"]
    assert change["examples"][0]["title"] == "a private matter"


def test_scores_that_do_not_decide_are_unknown(operator: Client, anna: User) -> None:
    """A sentence in need hides another one's block: the record has the highest of each category only."""
    two_sentences = checked("input", violence=0.9)
    need = SafetyScore(category="self_harm", score=0.95, threshold=0.55, verdict="flag")
    scores = tuple(need if score.category == "self_harm" else score for score in two_sentences.scores)
    saved(anna, msgspec.structs.replace(two_sentences, scores=scores))
    other = checked("input", violence=0.7)
    saved(anna, msgspec.structs.replace(other, scores=other.scores[1:]))
    found = preview(operator, input_flag_violence=0.8).json()
    assert (found["num_read"], found["num_unknown"], found["changes"]) == (2, 2, [])


@given(scores=st.dictionaries(st.sampled_from(sorted(POLICY.input.flag)), st.floats(0, 1)))
def test_a_sentence_judged_again_has_its_own_verdict(scores: dict[str, float]) -> None:
    check = checked("input", **{name: round(score, 4) for name, score in scores.items()})
    assert judged_again(POLICY, [check]) == check.verdict


def test_a_saved_policy_is_in_force_at_once_and_goes_with_each_generation(
    operator: Client, redis_client: redis.Redis
) -> None:
    assert services.guard().check("Hello", "input").policy == POLICY.label
    answer = put(operator, note="too strict", input_flag_violence=0.6)
    assert answer.status_code == 200
    version = PolicyVersion.objects.get()
    newest, file = answer.json()["versions"]
    assert (newest["version"], newest["author"], newest["note"]) == (version.pk, "otto", "too strict")
    assert file["version"] is None and file["thresholds"] == thresholds()
    assert services.guard().check("Hello", "input").policy == f"desk {version.pk}" == newest["label"]
    alice = sign_in("alice")
    conversation = post(alice, "/api/conversations", {})[1]["id"]
    sent = post(alice, f"/api/conversations/{conversation}/messages", {"text": "Hello"})[1]
    prepare(sent["assistant_message"]["request_id"])
    (generation,) = asked_of_workers(redis_client)
    assert generation.policy == saved_policy()
    assert generation.policy is not None and generation.policy.input.flag["violence"] == 0.6


def test_each_version_is_audited_and_an_earlier_one_comes_back_as_a_new_one(operator: Client) -> None:
    put(operator, input_flag_violence=0.6, output_block_hate=None)
    first = PolicyVersion.objects.get()
    changes = {change.name: change for change in listing().entries[0].changes}
    assert listing().entries[0].actor == "otto"
    assert changes["input violence flag"] == Change("input violence flag", "0.55", "0.6")
    assert changes["output hate block"] == Change("output hate block", "0.9", None)
    put(operator, first.pk)
    versions = operator.get("/api/safety").json()["versions"]
    assert [each["thresholds"] == thresholds() for each in versions] == [True, False, True]


def test_two_operators_do_not_overwrite_each_other(operator: Client) -> None:
    assert put(operator, input_flag_violence=0.6).status_code == 200
    late = put(operator, input_flag_violence=0.7)
    assert (late.status_code, late.json()["error"]["code"]) == (409, "outdated")
    assert PolicyVersion.objects.count() == 1


@on_postgres
@pytest.mark.parametrize("num_before", [0, 1])
def test_one_of_two_operators_who_save_at_once_is_told(operator: Client, anna: User, num_before: int) -> None:
    seen = save(POLICY, anna.pk, "", None).pk if num_before else None
    late = called_during(lambda: save(POLICY, anna.pk, "", seen), lambda: put(operator, seen, input_flag_violence=0.3))
    assert (late.status_code, late.json()["error"]["code"]) == (409, "outdated")
    assert PolicyVersion.objects.count() == num_before + 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"input_flag_violence": 1.5}, "threshold outside 0 to 1"),
        ({"input_flag_violence": 0.9}, "below the flag threshold"),
        ({"input_block_jailbreak": 0.9}, "without a replacement text"),
        ({"input_rewrite_violence": 0.9}, "only pii and secret can be rewritten"),
        ({"input_flag_violence": None, "input_block_violence": None}, "must have a flag threshold for each of"),
        ({"input_flag_cheese": 0.5}, "must have a flag threshold for each of"),
    ],
)
def test_a_broken_policy_is_refused(operator: Client, changed: dict[str, float | None], said: str) -> None:
    for answer in (preview(operator, **changed), put(operator, **changed)):
        assert answer.status_code == 400
        assert said in answer.json()["error"]["message"]
    assert not PolicyVersion.objects.exists()


def test_only_the_permission_opens_it(anna: User) -> None:
    User.objects.filter(pk=anna.pk).update(is_staff=True)
    client = Client()
    client.force_login(anna)
    answers = [client.get("/api/safety"), preview(client), put(client)]
    assert [answer.status_code for answer in answers] == [403, 403, 403]


def group_of(**limits: float) -> dict[str, Any]:
    """Thresholds of one group: output_rewrite_pii=2."""
    found: dict[str, Any] = {layer: {action: {} for action in ("flag", "rewrite", "block")} for layer in LAYERS}
    for name, value in limits.items():
        layer, action, category = name.rsplit("_", 2)
        found[layer][action][category] = value
    return found


def test_a_group_has_thresholds_of_its_own_and_others_have_none_of_them(operator: Client, anna: User) -> None:
    anna.groups.add(Group.objects.create(name="support"))
    body = {"thresholds": thresholds() | {"groups": {"support": group_of(output_rewrite_pii=2)}}, "after": None}
    assert operator.put("/api/safety", body, content_type="application/json").status_code == 200
    version = PolicyVersion.objects.get().pk
    assert {change.name for change in listing().entries[0].changes} == {"support: output pii rewrite"}
    bea = User.objects.create_user("bea")
    datum = "Ask bob@example.com."
    assert services.guard(anna.pk).check(datum, "output").text == datum
    assert services.guard(anna.pk).check(datum, "output").policy == f"desk {version}, group support"
    assert services.guard(bea.pk).check(datum, "output").text == services.guard().check(datum, "output").text
    assert services.guard(bea.pk).check(datum, "output").text == "Ask [e-mail]."
    assert operator.get("/api/safety").json()["groups"] == ["support"]


def test_a_mistake_in_a_groups_thresholds_is_refused(operator: Client) -> None:
    body = {"thresholds": thresholds() | {"groups": {"support": group_of(output_rewrite_pi=2)}}, "after": None}
    answer = operator.put("/api/safety", body, content_type="application/json")
    assert answer.status_code == 400 and 'did you mean "pii"' in answer.json()["error"]["message"]


def test_a_policy_saved_by_an_earlier_version_still_holds_and_gets_what_is_new(anna: User) -> None:
    old = msgspec.to_builtins(POLICY)
    for name in ("form", "tool_result", "groups"):
        del old[name]
    for layer in ("input", "output"):
        old[layer] = {
            action: {k: v for k, v in old[layer][action].items() if k not in FOUND} for action in ("flag", "block")
        }
    old["input"]["flag"]["violence"] = 0.61
    PolicyVersion.objects.create(policy=old, author=anna)
    policy = saved_policy()
    assert (
        policy is not None
        and policy.input.flag["violence"] == 0.61 == policy.thresholds("tool_result").flag["violence"]
    )
    assert policy.does("rewrite", "output", "pii") and policy.does("flag", "input", "secret")
