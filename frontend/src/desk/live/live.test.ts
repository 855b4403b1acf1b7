// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FakeSocket } from "../../transport/fake-socket";
import { PART_MS } from "./course";
import { NOW_MS, nowOf, pointOf, workerOf } from "./fixtures";
import { Live } from "./live.svelte";

let live: Live;
let status = 200;
const asked = vi.fn();
const history = { name: "host:1", points: [pointOf({ at_ms: NOW_MS - 1000 })] };

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("fetch", (address: string) => {
    asked(address);
    if (status === 0) return Promise.reject(new Error("offline"));
    const body =
      status === 200
        ? { now: nowOf(), histories: [history] }
        : { error: { code: "x", message: "Redis is away." } };
    return Promise.resolve(new Response(JSON.stringify(body), { status }));
  });
  FakeSocket.all = [];
  status = 200;
  live = new Live();
});
afterEach(() => {
  live.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  asked.mockClear();
});

const second = (n: number) =>
  nowOf({ at_ms: NOW_MS + n * 1000, workers: [workerOf({ point: pointOf({ at_ms: NOW_MS + n * 1000 }) })] });
const times = () => live.histories.get("host:1")?.map((point) => point.at_ms - NOW_MS);

it("draws the last fifteen minutes at once, and goes on from there", async () => {
  await live.open();
  expect(times()).toEqual([-1000, 0]);
  FakeSocket.last.accept();
  FakeSocket.last.tell(second(1));
  FakeSocket.last.tell(second(1));
  FakeSocket.last.tell(second(2));
  expect(times()).toEqual([-1000, 0, 1000, 2000]);
  expect(FakeSocket.last.sent.at(-1)).toEqual({ type: "ack", num_messages: 3 });
});

it("keeps an ended worker and the parts of the axis as they are, until something is new", async () => {
  await live.open();
  const ended = () => workerOf({ name: "host:2", state: "stopped", point: null });
  const tell = (n: number) =>
    FakeSocket.last.tell({ ...second(n), workers: [...second(n).workers, ended()] });
  tell(1);
  const { now, starts } = { now: live.now!, starts: live.starts };
  tell(2);
  expect(live.now!.workers[0]).not.toBe(now.workers[0]);
  expect(live.now!.workers[1]).toBe(now.workers[1]);
  expect(live.starts).toBe(starts);
  tell(15);
  expect(live.starts.at(-1)! - starts.at(-1)!).toBe(PART_MS);
});

it("says that Redis is lost, and keeps the last figures instead of zeros", async () => {
  await live.open();
  FakeSocket.last.tell({ ...nowOf({ workers: [], site: null }), problem: "Redis cannot be reached." });
  expect(live.problem).toBe("Redis cannot be reached.");
  expect(live.now?.workers).toHaveLength(1);
  FakeSocket.last.tell(second(1));
  expect(live.problem).toBe("");
});

it("comes back by itself after each loss, and leaves no socket behind", async () => {
  await live.open();
  for (let loss = 0; loss < 20; loss += 1) {
    FakeSocket.last.close();
    expect(live.problem).toContain("lost");
    await vi.advanceTimersByTimeAsync(8000);
    expect(live.problem).toBe("");
  }
  expect(FakeSocket.all.filter(({ readyState }) => readyState !== 3)).toHaveLength(1);
});

it("takes a silent connection for a lost one", async () => {
  await live.open();
  FakeSocket.last.accept();
  await vi.advanceTimersByTimeAsync(8000);
  expect(live.problem).toContain("lost");
});

it("tries again while the server cannot be reached, and tells its reason", async () => {
  status = 0;
  await live.open();
  expect(live.problem).toContain("lost");
  status = 503;
  await vi.advanceTimersByTimeAsync(500);
  expect(live.problem).toBe("Redis is away.");
  status = 200;
  await vi.advanceTimersByTimeAsync(1000);
  expect(live.problem).toBe("");
});

it.each([401, 403])("asks a reader who gets a %i to sign in, and tries nothing more", async (code) => {
  status = code;
  await live.open();
  expect(live.isOver).toBe(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toHaveBeenCalledOnce();
});

it("forgets a worker that the server forgets", async () => {
  await live.open();
  for (let name = 2; name < 50; name += 1)
    FakeSocket.last.tell(nowOf({ at_ms: NOW_MS + name, workers: [workerOf({ name: `host:${name}` })] }));
  expect([...live.histories.keys()]).toEqual(["host:49"]);
});

it("does nothing more once the page is left", async () => {
  await live.open();
  live.close();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(FakeSocket.all).toHaveLength(1);
  expect(FakeSocket.last.readyState).toBe(3);
});
