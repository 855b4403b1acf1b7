// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { FORKING, type Forking } from "../../state/conversation/forking";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { ACCEPTED, logSumExp, RELEASED, processor, token } from "../../trace/fixtures";
import type { ForkPlace } from "../../transport/api";
import SamplingPanel from "./SamplingPanel.svelte";

/** Events before those of a test. */
const RELEASED_SEQ = 4;

let panel: object;
let trace: RequestTrace;

beforeEach(() => {
  trace = new RequestTrace("req_a");
  [
    ACCEPTED,
    token(0, 100_000),
    { ...token(1, 300_000), id: 11, u: 0.9, low: 0.88, high: 1 },
    RELEASED,
  ].forEach((event, index) => trace.receive(event, index + 1));
  trace.selected = 0;
  panel = mount(SamplingPanel, { target: document.body, props: { trace } });
  flushSync();
});
afterEach(() => unmount(panel));

const rows = () => [...document.querySelectorAll<HTMLElement>('[data-testid="candidate"]')];
const drawn = () => rows().filter((row) => row.dataset.drawn === "true");
const section = () => document.querySelector<HTMLElement>('[data-testid="sampling-panel"]')!;

it("marks the drawn candidate and no other", () => {
  expect(rows().map((row) => row.dataset.id)).toEqual(["10", "11", "12"]);
  expect(drawn().map((row) => row.dataset.id)).toEqual(["10"]);
  expect(drawn()[0]!.classList.contains("drawn")).toBe(true);
  expect(section().dataset.tokenId).toBe("10");
});

it("shows what a stage removed as out, and probabilities that sum to one", () => {
  expect(rows()[2]!.querySelectorAll("s")).toHaveLength(1);
  const sum = rows().reduce((total, row) => total + Number(row.dataset.probability), 0);
  expect(sum).toBeCloseTo(1, 6);
});

it("walks to the next token with the arrow keys, and no further than the last", () => {
  const press = (key: string) => {
    section().dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    flushSync();
  };
  press("ArrowRight");
  expect(drawn().map((row) => row.dataset.id)).toEqual(["11"]);
  press("ArrowRight");
  expect(trace.selected).toBe(1);
  press("ArrowLeft");
  expect(trace.selected).toBe(0);
});

it("shows what a grammar masked, and what its mask cost", () => {
  const processors = [processor("grammar", 2, 0.02, logSumExp([1, 0]), { masked: [10] })];
  const masked = { ...token(2, 400_000), id: 11, candidate_ids: [11, 12, 10], candidate_logits: [1, 0, 2] };
  trace.receive(
    { type: "grammar.masked", generation: 0, at: 399_000, position: 2, num_allowed: 2, duration_us: 31 },
    RELEASED_SEQ + 1,
  );
  trace.receive({ ...masked, processors }, RELEASED_SEQ + 2);
  trace.receive(RELEASED, RELEASED_SEQ + 3);
  trace.selected = 2;
  flushSync();
  expect(rows().map((row) => row.dataset.id)).toEqual(["11", "12", "10"]);
  expect(rows()[2]!.querySelectorAll("s")).toHaveLength(1);
  expect(section().querySelector("thead")!.textContent).toMatch(/grammar\s*2 left\s*with 2/);
  expect(section().textContent).toContain("the grammar allowed 2 tokens, found in 31 µs");
});

it("says of a guess what became of it, and of a pass how many tokens it gave", () => {
  const draft = {
    type: "draft.verified",
    generation: 0,
    at: 300_000,
    position: 0,
    num_accepted: 1,
    source: "ngram",
  } as const;
  trace.receive({ ...draft, ids: [10, 12], pieces: [btoa(" a"), btoa("c")] }, RELEASED_SEQ + 1);
  flushSync();
  expect(section().textContent).toContain("guessed ahead by prompt lookup and accepted");
  expect(section().textContent).toContain("one of 2 tokens of one pass");
  document.querySelector<HTMLElement>('[aria-label="Next token"]')!.click();
  flushSync();
  expect(section().textContent).toMatch(/guessed “c”, rejected: the model drew “/);
  expect(trace.hovered).toBe(1);
});

it("goes on with the candidate under the arrows, and says why it cannot", async () => {
  unmount(panel);
  const places: ForkPlace[] = [];
  let reason = "";
  const offered: Forking = {
    answers: () => [],
    show: () => {},
    refusal: () => reason,
    fork: (_id, place) => {
      places.push(place);
      return Promise.resolve({ message: "Too many are open.", setting: null });
    },
  };
  const context = new Map([[FORKING, offered]]);
  panel = mount(SamplingPanel, { target: document.body, props: { trace }, context });
  flushSync();
  const press = (key: string) => {
    section().dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    flushSync();
  };
  press("Enter");
  expect(places).toEqual([]);
  for (const key of ["ArrowDown", "ArrowDown", "Enter"]) press(key);
  expect(places).toEqual([{ generation: 0, position: 0, token_id: 11 }]);
  await vi.waitFor(() =>
    expect(document.querySelector('[role="alert"]')?.textContent).toBe("Too many are open."),
  );
  const buttons = () => [...document.querySelectorAll<HTMLButtonElement>('[data-testid="continue-with"]')];
  expect(buttons().map((button) => button.disabled)).toEqual([false, false, false]);
  reason = "This trace was imported.";
  trace.selected = 1;
  flushSync();
  expect(buttons().every((button) => button.disabled && button.title === reason)).toBe(true);
  for (const key of ["ArrowDown", "Enter"]) press(key);
  expect(places).toHaveLength(1);
});

it("draws surprise and entropy from the first token on", () => {
  void unmount(panel);
  const live = new RequestTrace("req_b");
  [ACCEPTED, token(0, 100_000)].forEach((event, index) => live.receive(event, index + 1));
  panel = mount(SamplingPanel, { target: document.body, props: { trace: live, view: live.view } });
  flushSync();
  const chart = () => document.querySelector('[data-testid="surprise-chart"] svg');
  expect(chart()?.getAttribute("viewBox")).toBe("0 0 1 56");
  live.receive(token(1, 200_000), 3);
  flushSync();
  expect(chart()?.getAttribute("viewBox")).toBe("0 0 2 56");
  live.receive(token(2, 300_000), 4);
  flushSync();
  expect(chart()?.getAttribute("viewBox")).toBe("0 0 3 56");
});
