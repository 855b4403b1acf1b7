/** One order everywhere: that of the journey's scenes, which is that of the events. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AnyEvent, Frame } from "../protocol/events";
import { sceneIndex, SCENES, type SceneId } from "../trace/journey/scenes";
import { TERMS } from "../trace/words/terms";
import { EXHIBITS } from "./exhibits";

const LOGS = new URL("../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;

/** The event that a scene begins with. The check runs beside the preparation, so it has no place of its own. */
const FIRST: [AnyEvent["type"], SceneId][] = [
  ["request.accepted", "gateway"],
  ["context.assembled", "context"],
  ["prompt.tokenized", "tokens"],
  ["generation.queued", "queue"],
  ["cache.looked_up", "cache"],
  ["prefill.advanced", "prefill"],
  ["token.sampled", "sampling"],
  ["text.released", "release"],
  ["bill.posted", "bill"],
];

function firstEvents(path: string): SceneId[] {
  const { frames } = JSON.parse(readFileSync(path, "utf8")) as { frames: Frame[] };
  const types = frames.flatMap(({ events }) => events.map(({ type }) => type));
  return FIRST.map(([type, scene]) => ({ scene, seq: types.indexOf(type) }))
    .filter(({ seq }) => seq >= 0)
    .sort((one, other) => one.seq - other.seq)
    .map(({ scene }) => scene);
}

const ascending = (scenes: SceneId[]) =>
  expect(scenes).toEqual([...scenes].sort((one, other) => sceneIndex(one) - sceneIndex(other)));

describe.each(readdirSync(LOGS))("%s", (name) => {
  it("has its events in the order of the scenes", () => ascending(firstEvents(LOGS + name)));
});

it("shows the exhibits in the order of the scenes, at least one for each", () => {
  ascending(EXHIBITS.map(({ scene }) => scene));
  expect(new Set(EXHIBITS.map(({ scene }) => scene)).size).toBe(SCENES.length);
});

it("says of the gateway what the events show: the prompt may be made meanwhile, nothing is computed before", () => {
  expect(TERMS.gateway.sentence).toMatch(/prepared meanwhile/);
  expect(TERMS.gateway.sentence).toMatch(/gets nothing before the gateway has passed/);
});
