// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { AnyEvent } from "../../protocol/events";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { ACCEPTED, ended, token } from "../../trace/fixtures";
import TokensPanel from "./TokensPanel.svelte";

const CONTEXT = {
  type: "context.assembled",
  generation: 0,
  at: 1,
  segments: [
    { kind: "system", source: "conversation:system", start: 0, end: 1 },
    { kind: "attachment", source: "attachment:a", start: 1, end: 3 },
  ],
} as unknown as AnyEvent;
const FILES = { type: "attachment.selected", at: 0, files: [{ id: "a", name: "plan.md" }] };
const PROMPT = {
  type: "prompt.tokenized",
  generation: 0,
  at: 1,
  ids: [1, 2, 3],
  pieces: ["x", "y", "z"].map(btoa),
  special: [],
};
const WHOLE = [ACCEPTED, FILES, CONTEXT, PROMPT, token(0, 4), token(1, 5), ...ended("stop")] as AnyEvent[];

/** Two tokens; the first looks at the document with a quarter of its attention, the second with a half. */
const SUMMED = {
  type: "probe.summed",
  at: 1,
  first: 2,
  position: 3,
  starts: [0, 1, 3],
  shares: btoa(
    String.fromCharCode(...new Uint8Array(new Float32Array([0.5, 0.25, 0.25, 0.25, 0.5, 0.25]).buffer)),
  ),
  num_layers: 2,
  num_heads: 3,
  compute: "float32",
  duration_us: 1,
};

let panel: object | null = null;
afterEach(() => {
  if (panel) void unmount(panel);
  panel = null;
  vi.unstubAllGlobals();
});

function open(events: AnyEvent[]): RequestTrace {
  const trace = new RequestTrace("req_a");
  events.forEach((event, index) => trace.receive(event, index + 1));
  panel = mount(TokensPanel, { target: document.body, props: { trace, onSelect: () => undefined } });
  flushSync();
  return trace;
}
const text = (id: string) =>
  document.querySelector(`[data-testid="${id}"]`)?.textContent.replace(/\s+/g, " ").trim() ?? "";

it("names the source of each untrusted token, and shows attention only once it was measured", async () => {
  const asked: unknown[] = [];
  vi.stubGlobal("fetch", (_path: string, { body }: { body: string }) => {
    asked.push(JSON.parse(body));
    return Promise.resolve(new Response(JSON.stringify(SUMMED)));
  });
  const trace = open(WHOLE);
  const tainted = [...document.querySelectorAll<HTMLElement>(".chip.tainted")];
  expect(
    tainted.map(({ textContent, title }) => [textContent, title.split(" · ").slice(2).join(" · ")]),
  ).toEqual([
    ["y", "from document · plan.md"],
    ["z", "from document · plan.md"],
  ]);
  expect(text("taint-legend")).toBe("1 document · plan.md 2 tokens");
  expect(text("source-attention")).toContain("Not known for this answer");
  expect(document.querySelector('[data-testid="shared-token"]')).toBeNull();
  expect(asked).toEqual([]);

  document.querySelector<HTMLButtonElement>('[data-testid="source-attention"] button')!.click();
  await vi.waitFor(() => expect(text("share-note")).toContain("all 3 heads of all 2 layers"));
  expect(asked).toEqual([{ kind: "sources", position: 3 }]);
  expect(text("share-note")).toContain("Attention share is not proof of cause.");
  const rows = [...document.querySelectorAll('[data-testid="source-shares"] tbody tr')];
  const cells = rows.map((row) => [...row.children].map((cell) => cell.textContent.replace(/\s+/g, " ")));
  expect(cells).toEqual([
    ["1 document · plan.md", "2 (66.7 % of the prompt)", "37.5 %"],
    ["first token", "1", "37.5 %"],
    ["all else", "–", "25.0 %"],
  ]);
  trace.selected = 1;
  flushSync();
  expect(text("share-told")).toContain("1 document · plan.md 50.0 % · first token 25.0 % · all else 25.0 %");
});

it("has neither colours nor a measurement where no token is untrusted", () => {
  open(WHOLE.filter((event) => event !== CONTEXT));
  expect(document.querySelector(".tainted, [data-testid='source-attention']")).toBeNull();
});
