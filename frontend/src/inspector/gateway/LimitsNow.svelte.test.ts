// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { LimitNow, PastRefusal } from "../../protocol/api";
import type { Limit } from "../../protocol/events";
import LimitsNow from "./LimitsNow.svelte";

let panel: object;
let limits: LimitNow[] = [];
let refusals: PastRefusal[] = [];
let isDown = false;
let asked: string[] = [];

const level = (remaining: number, more: Partial<Limit> = {}, is_warned = false): LimitNow => ({
  limit: {
    name: "requests",
    subject: "user",
    limit: 10,
    remaining,
    reset_unix_us: null,
    num_taken: 0,
    refill_per_s: 1,
    currency: "",
    ...more,
  },
  is_warned,
});
const refusal = (at_s: number, more: Partial<PastRefusal> = {}): PastRefusal => ({
  at_unix_us: at_s * 1e6,
  code: "rate_limited",
  limit: level(0).limit,
  num_asked: 1,
  retry_after_s: 6,
  num_requests: 1,
  surface: "openai",
  model: "m",
  key: "sg-abc",
  ...more,
});

function answer(address: string): Promise<Response> {
  asked.push(address);
  if (isDown) return Promise.reject(new TypeError("away"));
  const body = address.includes("refusals") ? { refusals } : { model: "m", limits };
  return Promise.resolve(new Response(JSON.stringify(body), { status: 200 }));
}

beforeEach(() => {
  [limits, refusals, isDown, asked] = [[level(7)], [], false, []];
  vi.useFakeTimers();
  vi.stubGlobal("fetch", vi.fn(answer));
});
afterEach(async () => {
  await unmount(panel);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** The panel's next reading is there. */
async function settled(ms = 0) {
  await vi.advanceTimersByTimeAsync(ms);
  flushSync();
}

async function open() {
  panel = mount(LimitsNow, { target: document.body, props: { requestId: "req_1" } });
  await settled();
}

const words = (id: string) =>
  document.querySelector(`[data-testid=${id}]`)?.textContent.replace(/\s+/g, " ") ?? "";
const fill = () => document.querySelector<HTMLElement>(".bucket i")!.style.width;

it("shows each level, and follows it as it falls", async () => {
  await open();
  expect(words("limits-now")).toContain("7 of 10 left");
  expect(fill()).toBe("70%");
  limits = [level(2, {}, true)];
  await settled(2000);
  expect(words("limits-now")).toContain("2 of 10 left");
  expect(fill()).toBe("20%");
  expect(document.querySelectorAll(".bucket.is_warned").length).toBe(1);
});

it("puts the limit with the smallest share left first, and says that it binds", async () => {
  limits = [level(9), level(100, { name: "output_tokens", subject: "group", limit: 1000 })];
  await open();
  const first = document.querySelector("[data-testid=limits-now] li")!;
  expect(first.textContent).toContain("of the group together");
  expect(first.querySelector("[data-testid=fullest]")).not.toBeNull();
});

it("keeps the last levels and says so while the server is away", async () => {
  await open();
  isDown = true;
  await settled(2000);
  expect(words("limits-now")).toContain("The server does not answer");
  expect(words("limits-now")).toContain("7 of 10 left");
  isDown = false;
  await settled(2000);
  expect(words("limits-now")).not.toContain("The server does not answer");
});

it("asks no more for a request whose limits it may not see", async () => {
  isDown = true;
  await open();
  const before = asked.length;
  await settled(10_000);
  expect(asked.length).toBe(before);
  expect(document.querySelector("[data-testid=limits-now]")).toBeNull();
});

it("lists equal refusals in a row once, with their number", async () => {
  refusals = [
    refusal(50, { limit: level(0, { remaining: 1 }).limit, retry_after_s: 3 }),
    refusal(40),
    refusal(30),
    refusal(20, { key: "" }),
    refusal(10),
  ];
  await open();
  const items = [...document.querySelectorAll("[data-testid=refused-lately] li")].map((each) =>
    each.textContent.replace(/\s+/g, " "),
  );
  expect(items.length).toBe(3);
  expect(items[0]).toContain("3 times in a row");
  expect(items[0]).toContain("It may be sent again after 3 seconds.");
  expect(items[1]).toContain("sign-in");
  expect(items[1]).not.toContain("in a row");
  expect(items[2]).not.toContain("in a row");
});

it("says that no call was refused", async () => {
  await open();
  expect(words("refused-lately")).toContain("No call of yours was refused");
});
