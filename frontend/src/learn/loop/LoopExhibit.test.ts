// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { Session } from "../../protocol/api";
import type { ExhibitProps } from "../exhibits";
import LoopExhibit from "./LoopExhibit.svelte";

const NONE = { decoder: null, post_processor: null, pre_tokenizer: null, normalizer: null };
const MODEL = { type: "BPE", vocab: { a: 0, " ": 1, "<unk>": 2 }, unk_token: "<unk>", merges: [] };
const DEFINITION = { added_tokens: [], model: MODEL, ...NONE };
const STEP = { id: 0, piece: btoa("a"), cached_us: 1, uncached_us: 2, is_same: true };
const LOOP = {
  type: "loop",
  compute: "float32",
  steps: Array.from({ length: 8 }, () => STEP),
};

/** Longer than a visitor is waited for. */
const WORKER_MS = 600;

let exhibit: object | null;
/** Answers the fetch of the tokenizer. */
let fetched: () => void;
let numAsked: number;

beforeEach(() => {
  vi.useFakeTimers();
  numAsked = 0;
  vi.stubGlobal("matchMedia", () => ({ matches: false }));
  vi.stubGlobal("fetch", (path: string) => {
    if (path === "/tokenizer.json")
      return new Promise((resolve) => {
        fetched = () => resolve(new Response(JSON.stringify(DEFINITION)));
      });
    numAsked += 1;
    return new Promise((resolve) => setTimeout(() => resolve(new Response(JSON.stringify(LOOP))), WORKER_MS));
  });
  const session = { default_model: "m", models: [{ id: "m", tokenizer_url: "/tokenizer.json" }] };
  const props = { session: session as unknown as Session } as ExhibitProps;
  exhibit = mount(LoopExhibit, { target: document.body, props });
  flushSync();
});
afterEach(() => {
  if (exhibit) void unmount(exhibit);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const step = () => document.querySelector<HTMLInputElement>('[aria-label="Step"]')!.value;

it("asks nothing of a worker where the page was left before the tokenizer came", async () => {
  await unmount(exhibit!);
  exhibit = null;
  fetched();
  await vi.advanceTimersByTimeAsync(5000);
  expect(numAsked).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

it("plays once where it is pressed before it begins by itself, and ends", async () => {
  fetched();
  await vi.advanceTimersByTimeAsync(100);
  flushSync();
  document.querySelector("form")!.requestSubmit();
  await vi.advanceTimersByTimeAsync(WORKER_MS + 500);
  flushSync();
  const begun = Number(step());
  await vi.advanceTimersByTimeAsync(450);
  flushSync();
  expect(Number(step())).toBe(begun + 1);
  await vi.advanceTimersByTimeAsync(10_000);
  flushSync();
  expect(step()).toBe("8");
  expect(vi.getTimerCount()).toBe(0);
});
