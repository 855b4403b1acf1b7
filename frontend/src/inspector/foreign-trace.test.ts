// @vitest-environment jsdom
/** Traces from elsewhere, with other values than a server records: what the server's import takes, every panel can show. */
import { execFileSync } from "node:child_process";
import { flushSync, mount, unmount } from "svelte";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { AnyEvent } from "../protocol/events";
import { RequestTrace } from "../state/request/request-trace.svelte";
import { PANELS } from "./panels";

const ROOT = new URL("../../..", `file://${import.meta.dirname}/`).pathname;
const PYTHON = process.env.SIGHTGLASS_PYTHON ?? `${ROOT}.venv/bin/python`;
const SCRIPT = `
import json, os
import tests.environment
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
import django
django.setup()
from tests.webapp.traces.file.test_event_rules import taken
print(json.dumps(taken(240)))`;

const traces = JSON.parse(
  execFileSync(PYTHON, ["-c", SCRIPT], { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 27 }),
) as AnyEvent[][];

function opened(events: AnyEvent[]): RequestTrace {
  const trace = new RequestTrace("req_a");
  events.forEach((event, index) => trace.receive(event, index + 1));
  return trace;
}

beforeAll(() => {
  const Watcher = class {
    observe() {}
    unobserve() {}
    disconnect() {}
  };
  vi.stubGlobal("ResizeObserver", Watcher);
  vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener() {}, removeEventListener() {} }));
});

it("has traces to show", () => expect(traces.length).toBeGreaterThan(20));

describe.each(PANELS.filter((panel) => !("needsServer" in panel)))("$name", (panel) => {
  it("shows each of them", async () => {
    const { default: Panel } = await panel.load();
    for (const events of traces) {
      const trace = opened(events);
      const props = { trace, view: trace.view, onSelect() {}, onPanel() {}, onFollow() {} };
      const shown = mount(Panel as never, { target: document.body, props });
      flushSync();
      unmount(shown);
    }
  });
});
