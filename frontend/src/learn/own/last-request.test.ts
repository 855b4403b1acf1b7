// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { loadLastRequest } from "./last-request";

afterEach(() => vi.unstubAllGlobals());

it("asks for the last request that was made here, not for an imported one", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (path: string) => {
    asked.push(path);
    return Promise.resolve(Response.json({ requests: [] }));
  });
  expect((await loadLastRequest()).requestId).toBeNull();
  expect(new URL(asked[0]!, "http://here").searchParams.get("is_imported")).toBe("false");
});
