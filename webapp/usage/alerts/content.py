"""What an alert says: as JSON for a webhook, as text for an e-mail. Pure."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import msgspec

from webapp.usage.findings.finding import Finding, Lead

TEST_TITLE = "This is a test of an alert. Nothing stands out."


def content_of(finding: Finding, rule_name: str, site: str) -> dict[str, Any]:
    """The alert of a finding. site: the product's own address."""
    said = msgspec.to_builtins({name: getattr(finding, name) for name in ("key", "kind", "severity", "title", "why")})
    times = {"start": finding.start.isoformat(), "end": finding.end.isoformat()}
    ids = [request.request_id for request in finding.requests]
    data = {"rule": rule_name, **said, **times, "requests": ids, "url": site + _query(finding.lead)}
    return {"type": "finding.found", "data": data}


def trial_content(rule_name: str, site: str) -> dict[str, Any]:
    """The alert that the test button sends."""
    return {"type": "test", "data": {"rule": rule_name, "title": TEST_TITLE, "url": f"{site}/admin/"}}


def text_of(content: dict[str, Any]) -> str:
    """The text of the e-mail."""
    data = content["data"]
    lines = [data["title"], data.get("why", ""), f"See it: {data['url']}", f"Rule: {data['rule']}"]
    return "\n\n".join(line for line in lines if line) + "\n"


def _query(lead: Lead) -> str:
    chosen = {"user": lead.user_id, "model": lead.model, "status": lead.status, "code": lead.code}
    query = {"first": lead.first, "last": lead.last, "zone": "UTC"}
    return f"/admin/?{urlencode(query | {name: value for name, value in chosen.items() if value})}"
