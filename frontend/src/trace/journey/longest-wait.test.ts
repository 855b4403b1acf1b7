import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { AnyEvent, Frame } from "../../protocol/events";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { ACCEPTED, foldAll } from "../fixtures";
import { duration } from "../format";
import { longestWait } from "./longest-wait";
import { SCENES } from "./scenes";
import { stripFigure } from "./strip-figures";

const LOGS = new URL("../../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;
const VIEWS = readdirSync(LOGS).map((name) => {
  const { frames } = JSON.parse(readFileSync(LOGS + name, "utf8")) as { frames: Frame[] };
  return [name, RequestTrace.saved(frames).whole] as const;
});

it.each(VIEWS)("names a scene and the very figure that the strip has: %s", (_, view) => {
  const wait = longestWait(view);
  if (wait?.scene) expect(duration(wait.spent)).toBe(stripFigure(view, wait.scene));
});

it("gives a long check of the message to the check, though the queue ended later", () => {
  const events = [
    ACCEPTED,
    { type: "prompt.tokenized", at: 1000, ids: [1], pieces: ["YQ=="], special: [], duration_us: 500 },
    {
      type: "safety.checked",
      layer: "input",
      at: 135_000,
      duration_us: 134_000,
      scores: [],
      verdict: "allow",
    },
    { type: "generation.queued", at: 135_100, queue_depth: 0 },
    { type: "generation.started", at: 138_100, queued_us: 0 },
  ] as unknown as AnyEvent[];
  const view = foldAll(events);
  expect(longestWait(view)).toEqual({ scene: "safety", position: null, title: "Safety", spent: 134_000 });
  expect(longestWait(foldAll(events.slice(0, 1)))).toBeNull();
});

it("counts only scenes that come before the first token", () => {
  const before = VIEWS.flatMap(([, view]) => longestWait(view)?.scene ?? []);
  const late = SCENES.slice(SCENES.findIndex(({ id }) => id === "sampling")).map(({ id }) => id as string);
  expect(before.length).toBeGreaterThan(2);
  for (const scene of before) expect(late).not.toContain(scene);
});
