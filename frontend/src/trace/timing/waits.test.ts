import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { random } from "../../layout/random";
import { fold } from "../fold";
import { foldAll } from "../fixtures";
import { emptyView } from "../view";
import { BETWEEN, criticalPath, firstText, shownParts } from "./waits";

const LOGS = new URL("../../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;

describe.each(["finished", "stopped", "lost", "remote", "blocked"])(
  "the recorded log %s, at any moment",
  (name) => {
    const { frames } = JSON.parse(readFileSync(`${LOGS}${name}.json`, "utf8")) as {
      frames: { events: AnyEvent[] }[];
    };
    let view = emptyView();
    const moments = frames
      .flatMap(({ events }) => events)
      .map((event, index) => (view = fold(view, event, index + 1)));

    it("has a path without holes or overlaps", () => {
      for (const moment of moments) {
        const path = criticalPath(moment);
        path.slice(1).forEach((part, index) => expect(part.start).toBe(path[index]!.end));
        for (const { start, end } of path) expect(end).toBeGreaterThan(start);
      }
    });

    it("has a first text whose parts are its whole, also as they are shown", () => {
      for (const moment of moments) {
        const first = firstText(moment);
        expect(first !== null).toBe(moment.releases.length > 0);
        if (!first) continue;
        const { parts, start, end } = first;
        expect(parts[0]!.start).toBe(start);
        expect(parts.at(-1)!.end).toBe(end);
        parts.slice(1).forEach((part, index) => expect(part.start).toBe(parts[index]!.end));
      }
    });
  },
);

it("names what no event covers", () => {
  const view = foldAll([
    { type: "request.accepted", at: 0, received_at: -2000, accepted_unix_us: 1 } as unknown as AnyEvent,
    { type: "gateway.checked", at: 1000, principal: "user:1", limits: [], duration_us: 3000 },
    { type: "text.released", generation: 0, at: 9000, text: "a", num_tokens: 1 },
  ]);
  expect(firstText(view)!.parts.map(({ label, start, end }) => [label, end - start])).toEqual([
    ["Gateway: sign-in, limits, records", 3000],
    [BETWEEN, 8000],
  ]);
});

it("shows figures that add up to the total shown, none further from the truth than a grain", () => {
  const next = random(11);
  for (let turn = 0; turn < 500; turn++) {
    const lengths = Array.from({ length: 1 + Math.floor(next() * 12) }, () =>
      Math.floor(next() ** 5 * 900_000),
    );
    const { figures, total, digits, unit } = shownParts(lengths);
    const scale = 10 ** digits;
    const sum = figures.reduce((all, figure) => all + Math.round(figure * scale), 0);
    expect(sum).toBe(Math.round(total * scale));
    const us = unit === "ms" ? 1000 : 1;
    figures.forEach((figure, index) =>
      expect(Math.abs(figure - lengths[index]! / us)).toBeLessThanOrEqual(1 / scale + 1e-9),
    );
  }
});
