// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { AnyEvent } from "../../protocol/events";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { ACCEPTED, RELEASED, token } from "../../trace/fixtures";
import LayersPanel from "./LayersPanel.svelte";

const PROMPT = {
  type: "prompt.tokenized",
  generation: 0,
  at: 1000,
  tokenizer: "t",
  version: "v",
  ids: [1, 2, 3],
  pieces: [btoa("The"), btoa(" sky"), btoa(" is")],
  special: [],
  lossy_bytes: 0,
  thinking: null,
  duration_us: 1,
} as AnyEvent;

interface Asked {
  kind: string;
  position: number;
}

/** Two layers of two heads; the token at `position` looks at the first one alone. */
function answer({ kind, position }: Asked): object {
  const own = { at: 1, position, duration_us: 1, compute: "float32" };
  const row = String.fromCharCode(255) + "\0".repeat(position);
  const layer = { ids: [10, 11], pieces: [btoa(" a"), btoa("b")], probabilities: [0.5, 0.25] };
  switch (kind) {
    case "attention":
      return { ...own, type: "probe.attended", num_layers: 2, num_heads: 2, weights: btoa(row.repeat(4)) };
    case "lens":
      return {
        ...own,
        type: "probe.lensed",
        next_id: 10,
        layers: [0.125, 0.5].map((p) => ({ ...layer, next_probability: p, next_rank: 1 })),
      };
    case "neighbours":
      return {
        ...own,
        type: "probe.compared",
        id: 10,
        vocab_size: 320,
        neighbours: [{ id: 12, piece: btoa("c"), cosine: 0.75 }],
      };
    default:
      return {
        ...own,
        type: "probe.measured",
        num_layers: 2,
        num_heads: 4,
        num_kv_heads: 2,
        head_dim: 8,
        bytes_per_value: 2,
        block_size: 16,
        num_blocks: 1,
        num_bytes: 4096,
        num_bytes_ungrouped: 8192,
      };
  }
}

let panel: object | null = null;
let trace: RequestTrace;
let asked: Asked[];
let respond: (body: Asked) => { status: number; body: object };

beforeEach(() => {
  asked = [];
  respond = (body) => ({ status: 200, body: answer(body) });
  vi.stubGlobal("fetch", (_path: string, { body }: { body: string }) => {
    const look = JSON.parse(body) as Asked;
    asked.push(look);
    const { status, body: sent } = respond(look);
    return Promise.resolve(new Response(JSON.stringify(sent), { status }));
  });
  // jsdom has neither: a browser checks pixels and widths.
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      unobserve() {}
      disconnect() {}
    },
  );
  HTMLCanvasElement.prototype.getContext = () => null;
  trace = new RequestTrace("req_a");
});
afterEach(() => {
  if (panel) void unmount(panel);
  panel = null;
  vi.unstubAllGlobals();
});

function open(events: AnyEvent[], selected: number | null): void {
  events.forEach((event, index) => trace.receive(event, index + 1));
  trace.selected = selected;
  panel = mount(LayersPanel, { target: document.body, props: { trace } });
  flushSync();
}

const WHOLE = [ACCEPTED, PROMPT, token(0, 100_000), token(1, 200_000), RELEASED];
const text = () => document.body.textContent!.replace(/\s+/g, " ");

it("shows the pass that chose the selected token, and that token's neighbours and memory", async () => {
  open(WHOLE, 1);
  await vi.waitFor(() => expect(text()).toContain("0.75"));
  expect(asked).toEqual([
    { kind: "attention", position: 3 },
    { kind: "lens", position: 3 },
    { kind: "neighbours", position: 4 },
    { kind: "memory", position: 4 },
  ]);
  expect(text()).toContain("This pass read “·a”, token 4, and chose “·a”.");
  expect(text()).toContain("50.0 % here, in float32; 64.4 % when it was served");
  expect(text()).toContain("4.0 KiB");
  expect(text()).toContain("8.0 KiB");
  const weights = [...document.querySelectorAll<HTMLElement>('[data-testid="attention-context"] span')];
  expect(weights.map((each) => each.title.replace(/\s/g, " "))).toEqual([
    "token 1 · 100 %",
    "token 2 · 0 %",
    "token 3 · 0 %",
    "token 4 · 0 %",
  ]);
});

it("chooses heads with the arrow keys and lets go with Escape", async () => {
  open(WHOLE, 1);
  await vi.waitFor(() => expect(text()).toContain("all 4 heads"));
  const grid = document.querySelector<HTMLElement>(".grid")!;
  const press = (key: string) => {
    grid.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    flushSync();
  };
  press("ArrowRight");
  press("ArrowRight");
  press("ArrowUp");
  expect(text()).toContain("Layer 2, head 2 · most: 100 % on “The” (token 1)");
  press("Escape");
  expect(text()).toContain("all 4 heads");
});

it("walks to the token before, through the prompt to its beginning", async () => {
  open(WHOLE, 0);
  await vi.waitFor(() => expect(text()).toContain("0.75"));
  const before = () => document.querySelector<HTMLButtonElement>('[aria-label="Previous token"]')!;
  for (let step = 0; step < 3; step++) {
    before().click();
    flushSync();
  }
  expect(before().disabled).toBe(true);
  expect(text()).toContain("This pass read “The”, token 1.");
  expect(trace.selected).toBeNull();
  await vi.waitFor(() => expect(asked.at(-1)).toEqual({ kind: "memory", position: 0 }));
  // A reader who walks on does not request each token on the way.
  expect(asked).toHaveLength(8);
});

it("says why something cannot be seen, and asks again", async () => {
  const problem = { error: { code: "other_model", message: "Computed by another model." } };
  respond = () => ({ status: 409, body: problem });
  open(WHOLE, 0);
  await vi.waitFor(() => expect(document.querySelectorAll('[role="alert"]')).toHaveLength(4));
  expect(text()).toContain("Computed by another model.");
  respond = (body) => ({ status: 200, body: answer(body) });
  document.querySelectorAll<HTMLButtonElement>('[role="alert"] button').forEach((button) => button.click());
  await vi.waitFor(() => expect(text()).toContain("0.75"));
  expect(document.querySelectorAll('[role="alert"]')).toHaveLength(0);
});

it("waits as long as the worker computes", async () => {
  let isReady = false;
  respond = (body) =>
    isReady ? { status: 200, body: answer(body) } : { status: 202, body: { state: "running" } };
  open(WHOLE, 0);
  await vi.waitFor(() => expect(text()).toContain("Computing; other requests go first"));
  isReady = true;
  await vi.waitFor(() => expect(text()).toContain("0.75"));
});

it("asks for nothing while there are no tokens", () => {
  open([ACCEPTED], null);
  expect(text()).toContain("The tokenizer has not cut the prompt yet");
  expect(asked).toEqual([]);
});
