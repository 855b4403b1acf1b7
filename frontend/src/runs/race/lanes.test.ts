import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { builtInUse } from "../../chat/presets";
import type { AnyEvent } from "../../protocol/events";
import { divergence } from "../../trace/compare/divergence";
import { PARAMS } from "../../trace/fixtures";
import { fold } from "../../trace/fold";
import { PRESETS } from "../../trace/sampling/presets";
import { emptyView, type TraceView } from "../../trace/view";
import {
  beginningFrom,
  beginningOf,
  drawSeed,
  entriesOf,
  forkText,
  presetsOf,
  problemOf,
  toldOf,
} from "./lanes";

const LOG = new URL("../../../../tests/golden/logs/finished.json", `file://${import.meta.dirname}/`).pathname;

function golden(): TraceView {
  const { frames } = JSON.parse(readFileSync(LOG, "utf8")) as {
    frames: { seq: number; events: AnyEvent[] }[];
  };
  let view = emptyView();
  for (const { seq, events } of frames)
    events.forEach((event, index) => (view = fold(view, event, seq + index)));
  return view;
}

const DEFAULTS = { ...PARAMS, temperature: 0.25, top_p: 0.9, max_tokens: 64 };

it("gives each lane its own settings, and both the same draws where that is asked for", () => {
  const [precise, , wild] = presetsOf(DEFAULTS);
  const [small, big] = [DEFAULTS, { ...DEFAULTS, max_tokens: 128 }].map((default_params, index) => ({
    id: `model-${index}`,
    default_params,
  }));
  const settings = [precise!.setting, wild!.setting];
  const told = (...given: Parameters<typeof entriesOf>) =>
    entriesOf(...given).map(({ model, params }) => [
      model,
      params.temperature,
      params.seed,
      params.max_tokens,
    ]);
  expect(told({ params: null }, [small!, big!], settings, 7)).toEqual([
    ["model-0", 0, 7, 64],
    ["model-1", 1.2, 7, 128],
  ]);
  expect(told({ params: { ...DEFAULTS, max_tokens: 9 } }, [small!, big!], settings, 7)).toEqual([
    ["model-0", 0, 7, 9],
    ["model-1", 1.2, 7, 9],
  ]);
  expect(Number.isSafeInteger(drawSeed())).toBe(true);
});

it("takes every preset and refuses what the server would", () => {
  expect(presetsOf(DEFAULTS).map(({ setting }) => problemOf(setting))).toEqual(["", "", ""]);
  const free = { temperature: 1, top_p: 1, min_p: 0 };
  expect(problemOf({ ...free, temperature: 3 })).toContain("Temperature");
  expect(problemOf({ ...free, temperature: Number.NaN })).toContain("Temperature");
  expect(problemOf({ ...free, top_p: 0 })).toContain("Top-p");
  expect(problemOf({ ...free, min_p: 2 })).toContain("Min-p");
});

it("sends under a preset's name what the chat's settings send under it", () => {
  const each = PRESETS.map((preset) => builtInUse(preset, DEFAULTS).params);
  const model = { id: "m", default_params: DEFAULTS };
  const settings = presetsOf(DEFAULTS).map(({ setting }) => setting);
  const raced = entriesOf({ params: null }, Array(settings.length).fill(model), settings, DEFAULTS.seed);
  expect(raced.map(({ params }) => params)).toEqual(each);
});

it("tells where two lanes part, that they never did, and nothing while they run together", () => {
  const view = golden();
  const other = {
    ...view,
    tokens: view.tokens.map((token, index) =>
      index === 2 ? { ...token, id: -1, piece: btoa(" odd") } : token,
    ),
  };
  expect(forkText(divergence(view, view), [view, view])).toBe("Both answers are the same, token for token.");
  expect(forkText(divergence(view, other), [view, other])).toMatch(
    /^They differ from token 3 on: A takes “.+” \(.+\), B takes “odd”\.$/,
  );
  const running = { ...view, finished: null, tokens: view.tokens.slice(0, 2) };
  expect(forkText(divergence(running, running, false), [running, running])).toBe("");
});

it("tells a lane's tokens, speed and end from its trace", () => {
  expect(toldOf(emptyView())).toBe("Waiting");
  expect(toldOf(golden())).toMatch(/^\d+ tokens? · first text after .+ · end of turn$/);
});

it("begins with the model's own settings and prompt, or with those of the request it was opened from", () => {
  const model = { default_system_prompt: "Be brief." };
  expect(beginningOf(model)).toEqual({ text: "", systemPrompt: "Be brief.", params: null });
  const view = golden();
  const [segment] = view.context!.segments;
  const segments = [
    { ...segment!, kind: "system" as const, source: "conversation:system", text: "Rhyme." },
    { ...segment!, kind: "user" as const, source: "message:a", text: "Sea" },
  ];
  expect(beginningFrom({ ...view, context: { ...view.context!, segments } })).toEqual({
    text: "Sea",
    systemPrompt: "Rhyme.",
    params: view.accepted!.params,
  });
  expect(beginningFrom({ ...view, context: null })).toMatchObject({ text: "", systemPrompt: "" });
});
