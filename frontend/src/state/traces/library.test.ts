// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ListedRequest } from "../../protocol/api";
import { PartlyDeleted } from "../deletions.svelte";
import { Library } from "./library.svelte";

/** A server with these rows; each run is in the set "r" and cost as many as its index says. */
let runs: string[];
let running: string[];
let deletes: string[];

beforeEach(() => {
  runs = ["a", "b", "c"];
  running = [];
  deletes = [];
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => Promise.resolve(answer(path, init)));
});
afterEach(() => vi.unstubAllGlobals());

function answer(path: string, { method, body }: RequestInit): Response {
  const json = (value: object, status = 200) => new Response(JSON.stringify(value), { status });
  if (method === "DELETE") return refused(path) ?? new Response(null, { status: 204 });
  if (method === "PATCH") {
    const row = rows("").find(({ id }) => path.endsWith(`/${id}`));
    return json({ ...row, marks: JSON.parse(body as string) as object });
  }
  if (path === "/api/requests/delete") {
    const { ids, query } = JSON.parse(body as string) as { ids?: string[]; query?: string };
    const gone = (query === undefined ? ids! : runs).filter((id) => !running.includes(id));
    deletes.push(...gone);
    runs = runs.filter((id) => !gone.includes(id));
    return json({ num_traces: gone.length });
  }
  return json({ requests: rows(path), next_cursor: null });
}

function refused(path: string): Response | null {
  const id = path.split("/").at(-1)!;
  if (running.includes(id))
    return new Response(JSON.stringify({ error: { code: "still_running", message: "Stop it first." } }), {
      status: 409,
    });
  deletes.push(id);
  runs = runs.filter((each) => each !== id);
  return null;
}

function rows(path: string): ListedRequest[] {
  const row = (id: string) =>
    ({ id, rerun_id: "r", run: { index: "abc".indexOf(id) }, set: null }) as unknown as ListedRequest;
  if (!path.includes("is_grouped")) return runs.map(row);
  const last = runs.at(-1);
  if (!last) return [];
  const set = { ids: runs, status: { done: runs.length }, cost_nano: runs.length * 10, currency: "USD" };
  return [{ ...row(last), set: runs.length > 1 ? set : null }];
}

async function loaded(): Promise<Library> {
  const library = new Library();
  await library.load();
  await library.expand("r");
  return library;
}

it("reads a set anew, and its runs where they are shown, when one of them was deleted", async () => {
  const library = await loaded();
  await library.deleteTrace("c");
  expect(library.list.map(({ id, set }) => [id, set?.ids, set?.cost_nano])).toEqual([["b", ["a", "b"], 20]]);
  expect(library.expanded.get("r")!.map(({ id }) => id)).toEqual(["a", "b"]);
  await library.deleteTraces({ ids: ["b"] }, ["b"]);
  expect(library.list.map(({ id, set }) => [id, set])).toEqual([["a", null]]);
  expect(library.expanded.has("r")).toBe(false);
});

it("keeps a set together when its last run, whose row it is, is marked", async () => {
  const library = await loaded();
  await library.mark("c", { is_pinned: true });
  expect(library.list.map(({ id, set }) => [id, set?.ids])).toEqual([["c", ["a", "b", "c"]]]);
  expect(library.expanded.get("r")!.map(({ marks }) => marks?.is_pinned)).toEqual([
    undefined,
    undefined,
    true,
  ]);
});

it("keeps what is selected meanwhile", async () => {
  const library = await loaded();
  library.toggle("a", true);
  await library.deleteTraces({ ids: ["b"] }, ["b"]);
  expect([...library.selected]).toEqual(["a"]);
});

it("does not delete a trace that is still running, and says why", async () => {
  const library = await loaded();
  running = ["b"];
  await expect(library.deleteTrace("b")).rejects.toThrow("Stop it first.");
  expect(deletes).toEqual([]);
});

it("says how many stay of those that are deleted at once, and lists what is there", async () => {
  const library = await loaded();
  running = ["b"];
  const deleting = library.deleteTraces({ ids: ["a", "b", "c"] }, ["a", "b", "c"]);
  await expect(deleting).rejects.toThrow(PartlyDeleted);
  await expect(deleting).rejects.toThrow("1 of 3 traces was not deleted.");
  expect(library.list.map(({ id }) => id)).toEqual(["b"]);
});

it("finds out what stays of all that match", async () => {
  const library = await loaded();
  running = ["a", "b"];
  const deleting = library.deleteTraces({ query: "" }, ["a", "b", "c"]);
  await expect(deleting).rejects.toThrow("2 of 3 traces were not deleted.");
  running = [];
  await library.deleteTraces({ query: "" }, ["a", "b"]);
  expect(library.list).toEqual([]);
});

it("lists each run by itself where a figure gives the order", async () => {
  const library = await loaded();
  await library.load("sort=-cost_nano");
  expect(library.list.map(({ id, set }) => [id, set])).toEqual([
    ["a", null],
    ["b", null],
    ["c", null],
  ]);
  await library.load("sort=created_at");
  expect(library.list.map(({ set }) => set?.ids)).toEqual([["a", "b", "c"]]);
});
