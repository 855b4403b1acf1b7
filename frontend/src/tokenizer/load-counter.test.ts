import { afterEach, expect, it, vi } from "vitest";
import { loadCounter } from "./browser-tokenizer";

afterEach(() => vi.unstubAllGlobals());

const DEFINITION = {
  added_tokens: [],
  model: { type: "BPE", vocab: { a: 0, b: 1 }, merges: [] },
  decoder: null,
  post_processor: null,
  pre_tokenizer: null,
  normalizer: null,
};

it("fetches and builds each tokenizer once, and again where that failed", async () => {
  const fetched: string[] = [];
  vi.stubGlobal("fetch", (url: string) => {
    fetched.push(url);
    const isFirst = fetched.length === 1;
    return Promise.resolve(new Response(JSON.stringify(DEFINITION), { status: isFirst ? 503 : 200 }));
  });
  await expect(loadCounter("/t?v=1")).rejects.toThrow("503");
  const [first, second] = await Promise.all([loadCounter("/t?v=1"), loadCounter("/t?v=1")]);
  expect(first.encode("ab")).toEqual([0, 1]);
  expect(second).toBe(first);
  expect(await loadCounter("/t?v=2")).not.toBe(first);
  expect(fetched).toEqual(["/t?v=1", "/t?v=1", "/t?v=2"]);
});
