"""Prometheus' rules and Grafana's dashboard ask only for what the site exposes; a real Prometheus loads them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import promql_parser
import pytest
import redis
import yaml
from django.conf import LazySettings
from django.test import Client
from django.urls import resolve
from pytest_django.live_server_helper import LiveServer

from tests.faults.conftest import until
from tests.ports import free_port
from tests.webapp.usage.metrics.conftest import TOKEN, Record, record, scrape, site
from tests.webapp.usage.metrics.test_scrape import beat, published
from webapp.api.usage.metrics import metrics
from webapp.operations.supervisor.child import Child

__all__ = ["record", "site"]

DOCKER = Path(__file__).parents[2] / "docker"
SERVICES: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text("utf-8"))["services"]
CONFIG: dict[str, Any] = yaml.safe_load((DOCKER / "prometheus.yml").read_text("utf-8"))
RULES: list[dict[str, Any]] = [
    rule
    for path in sorted((DOCKER / "prometheus").glob("*.rules.yml"))
    for group in yaml.safe_load(path.read_text("utf-8"))["groups"]
    for rule in group["rules"]
]
DASHBOARD: dict[str, Any] = json.loads((DOCKER / "grafana/dashboards/sightglass.json").read_text("utf-8"))
OF_GRAFANA = {"$__rate_interval": "5m", "$model_name": ".*"}
OF_PROMETHEUS = {"job", "instance"}
"""Labels that a scrape adds."""

pytestmark = pytest.mark.django_db


def dashboard_queries() -> list[str]:
    found = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    for name, value in OF_GRAFANA.items():
        found = [query.replace(name, value) for query in found]
    return found


QUERIES = [*(rule["expr"] for rule in RULES), *dashboard_queries()]


@pytest.fixture
def used(record: Record, redis_client: redis.Redis) -> None:
    """A use with which every family has a value."""
    times = {"queue_us": 3_000, "first_token_us": 90_000, "first_text_us": 95_000, "per_token_us": 12_000}
    record(**times, duration_us=10**6, uncached_input=20, cache_read=9, output=32, currency="USD", cost_nano=5)
    record(status="failed", error_code="worker_lost", verdict="allow")
    record(status="refused", error_code="too_many_open")
    published(redis_client, "one")
    beat(redis_client, "ready")


@pytest.fixture
def exposed(used: None, site: Client) -> dict[str, set[str]]:
    """The labels of each exposed series."""
    Client().get("/healthz")
    samples = [sample for family in scrape(site).values() for sample in family.samples]
    return {sample.name: set(sample.labels) for sample in samples}


def selectors(query: str) -> list[promql_parser.VectorSelector]:
    found: list[promql_parser.VectorSelector] = []

    def look(expression: Any) -> None:
        if isinstance(expression, promql_parser.VectorSelector):
            found.append(expression)
        for name in ("lhs", "rhs", "expr", "param", "vector_selector"):
            if isinstance(part := getattr(expression, name, None), promql_parser.Expr):
                look(part)
        for part in getattr(expression, "args", None) or ():
            look(part)

    look(promql_parser.parse(query))
    return found


def test_each_query_names_series_and_labels_that_the_site_exposes(exposed: dict[str, set[str]]) -> None:
    known = exposed | {"up": set()}
    for query in QUERIES:
        found = selectors(query)
        assert found, query
        labels = set[str]()
        for selector in found:
            assert selector.name in known, (selector.name, query)
            labels |= known[selector.name] | OF_PROMETHEUS
            asked = {matcher.name for matcher in selector.matchers.matchers}
            assert asked <= known[selector.name] | OF_PROMETHEUS, query
        for grouped in re.findall(r"(?:by|without) \(([\w, ]+)\)", query):
            assert set(grouped.split(", ")) <= labels, query


def test_each_label_in_a_text_is_one_of_the_alert(exposed: dict[str, set[str]]) -> None:
    for rule in RULES:
        labels = {label for selector in selectors(rule["expr"]) for label in (exposed.get(selector.name) or set())}
        told = " ".join(rule["annotations"].values())
        assert set(re.findall(r"\$labels\.(\w+)", told)) <= labels | OF_PROMETHEUS, rule["alert"]
        assert {"summary", "action"} == rule["annotations"].keys()
        assert rule["labels"]["severity"] in ("warning", "critical")


def test_every_series_of_the_dashboard_has_its_place_and_source() -> None:
    uid = yaml.safe_load((DOCKER / "grafana/provisioning/datasources/prometheus.yml").read_text("utf-8"))
    (source,) = uid["datasources"]
    assert source["url"] == "http://prometheus:9090"
    panels = DASHBOARD["panels"]
    assert {target["datasource"]["uid"] for panel in panels for target in panel["targets"]} == {source["uid"]}
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels) > 15
    taken = set[tuple[int, int]]()
    for panel in panels:
        place = panel["gridPos"]
        columns = range(place["x"], place["x"] + place["w"])
        cells = {(x, y) for x in columns for y in range(place["y"], place["y"] + place["h"])}
        assert place["x"] + place["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
        for target in panel["targets"]:
            grouped = {
                label.strip() for by in re.findall(r"by \(([\w, ]+)\)", target["expr"]) for label in by.split(",")
            }
            named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert named <= grouped | {"worker"}, panel["title"]


def test_prometheus_finds_the_site_the_token_and_the_rules() -> None:
    (job,) = CONFIG["scrape_configs"]
    assert resolve(job["metrics_path"]).func is metrics
    (target,) = job["static_configs"][0]["targets"]
    host, _, port = target.partition(":")
    web, prometheus = SERVICES[host], SERVICES["prometheus"]
    assert web["command"][web["command"].index("-p") + 1] == port
    assert host in web["environment"]["SIGHTGLASS_ALLOWED_HOSTS"].split(",")
    (secret,) = prometheus["secrets"]
    assert job["authorization"] == {"type": "Bearer", "credentials_file": f"/run/secrets/{secret}"}
    mounted = dict(volume.split(":")[:2][::-1] for volume in prometheus["volumes"])
    assert mounted["/etc/prometheus/prometheus.yml"] == "./prometheus.yml"
    (pattern,) = CONFIG["rule_files"]
    folder, _, files = pattern.rpartition("/")
    assert list((DOCKER / mounted[folder]).glob(files))
    for name in ("prometheus", "grafana"):
        service = SERVICES[name]
        assert service["profiles"] == ["metrics"] and re.search(r":v?\d+\.\d+\.\d+$", service["image"])
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert not source.startswith(".") or (DOCKER / source).exists(), source


@pytest.fixture
def promtool() -> str:
    return _program("promtool")


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed here")
    return found


def test_promtool_accepts_the_files_and_the_alerts_fire(promtool: str) -> None:
    rules = sorted(map(str, (DOCKER / "prometheus").glob("*.rules.yml")))
    cases = Path(__file__).with_name("alerts.yml")
    config = ["check", "config", "--syntax-only", str(DOCKER / "prometheus.yml")]
    for command in (config, ["check", "rules", *rules], ["test", "rules", str(cases)]):
        run = subprocess.run([promtool, *command], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr


@pytest.fixture
def prometheus(live_server: LiveServer, settings: LazySettings, tmp_path: Path) -> Iterator[httpx.Client]:
    """A real Prometheus with the shipped files, but for the addresses."""
    program, port = _program("prometheus"), free_port()
    (tmp_path / "token").write_text(TOKEN)
    config = json.loads(json.dumps(CONFIG))
    config["global"] |= {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(DOCKER / "prometheus" / "*.rules.yml")]
    (job,) = config["scrape_configs"]
    job["authorization"]["credentials_file"] = str(tmp_path / "token")
    job["static_configs"] = [{"targets": [live_server.url.removeprefix("http://")]}]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    options = {
        "config.file": tmp_path / "prometheus.yml",
        "storage.tsdb.path": tmp_path / "data",
        "web.listen-address": f"127.0.0.1:{port}",
    }
    command = [program, *(f"--{name}={value}" for name, value in options.items())]
    child = Child("prometheus", command, tmp_path / "prometheus.log", {})
    with httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", timeout=30) as client:
        yield client
    child.send(9)
    assert child.wait(10)


def asked(client: httpx.Client, path: str, **query: str) -> Any:
    try:
        return client.get(path, params=query).json()["data"]
    except (httpx.TransportError, KeyError, ValueError):
        return None


@pytest.mark.django_db(transaction=True)
def test_a_real_prometheus_scrapes_the_site_and_runs_each_query(
    used: None, site: Client, prometheus: httpx.Client
) -> None:
    def values(query: str) -> list[Any]:
        found = asked(prometheus, "/query", query=query)
        return found["result"] if found else []

    until(lambda: bool(values("sightglass_request_success_total")), 60)
    assert [each["value"][1] for each in values("sum(sightglass_request_success_total)")] == ["1"]
    for query in QUERIES:
        answer = prometheus.get("/query", params={"query": query}).json()
        assert answer["status"] == "success", (query, answer)

    def rules() -> list[dict[str, Any]]:
        found = asked(prometheus, "/rules")
        return [rule for group in found["groups"] for rule in group["rules"]] if found else []

    until(lambda: bool(rules()) and all(rule["health"] == "ok" for rule in rules()), 60)
    assert {rule["name"] for rule in rules()} == {rule["alert"] for rule in RULES}
