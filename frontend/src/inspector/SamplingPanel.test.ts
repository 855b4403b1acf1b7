import { afterEach, beforeEach, expect, it } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { RequestTrace } from "../state/request-trace.svelte";
import { ACCEPTED, RELEASED, token } from "../trace/fixtures";
import SamplingPanel from "./SamplingPanel.svelte";

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
