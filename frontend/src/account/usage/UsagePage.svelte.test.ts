// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { mount, unmount } from "svelte";
import type { Findings, LimitNow, OwnGroup, UsageReport } from "../../protocol/api";
import type { Scope } from "../../transport/api";
import UsagePage from "./UsagePage.svelte";
import { FINDING, NOTHING, QUIET, WHAT_IF, REQUEST, figures, reportOf, usd } from "../../charts/fixtures";

const onOpen = vi.fn();
const LIMITS = {
  max_open: 4,
  requests_per_minute: null,
  input_tokens_per_minute: null,
  output_tokens_per_minute: null,
  tokens_per_day: null,
  daily_budget_nano: null,
  monthly_budget_nano: null,
};
let standsOut: Findings = QUIET;
let owned: OwnGroup[] = [];
let limits: LimitNow[] = [];
let page: object;
let asked: string[] = [];
let listed: string[] = [];

/** What the server answers: a report, or a problem. */
function answer(found: UsageReport | string): void {
  vi.stubGlobal("fetch", (address: string) => {
    if (address === "/api/usage/groups")
      return Promise.resolve(new Response(JSON.stringify({ groups: owned })));
    if (address === "/api/usage/groups/7/limits")
      return Promise.resolve(new Response(JSON.stringify({ operators: LIMITS, owners: LIMITS })));
    if (address === "/api/usage/refusals")
      return Promise.resolve(new Response(JSON.stringify({ refusals: [] })));
    if (address === "/api/usage/limits") return Promise.resolve(new Response(JSON.stringify({ limits })));
    if (address.includes("/requests?")) {
      listed.push(address);
      return Promise.resolve(new Response(JSON.stringify({ requests: [REQUEST], num_requests: 3 })));
    }
    if (address.includes("/days?"))
      return Promise.resolve(new Response(JSON.stringify({ days: [], pace: [] })));
    if (address.includes("/findings?")) return Promise.resolve(new Response(JSON.stringify(standsOut)));
    if (address.includes("/what-if?")) return Promise.resolve(new Response(JSON.stringify(WHAT_IF)));
    if (address === "/api/health") {
      const checks = { database: true, redis: true, worker: true };
      return Promise.resolve(new Response(JSON.stringify({ status: "ready", checks, workers: [] })));
    }
    asked.push(address);
    const body = typeof found === "string" ? { error: { code: "invalid", message: found } } : found;
    return Promise.resolve(
      new Response(JSON.stringify(body), { status: typeof found === "string" ? 400 : 200 }),
    );
  });
}

async function show(query: string, scope: Scope = { kind: "all" }): Promise<void> {
  page = mount(UsagePage, { target: document.body, props: { query, scope, onOpen } });
  await vi.waitFor(() => expect(document.querySelector('[aria-busy="false"]')).not.toBeNull());
}

const text = () => document.body.textContent.replaceAll(/\s+/g, " ");

beforeEach(() => {
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      unobserve() {}
      disconnect() {}
    },
  );
});
afterEach(async () => {
  await unmount(page);
  [asked, listed] = [[], []];
  standsOut = QUIET;
  [owned, limits] = [[], []];
  onOpen.mockClear();
  vi.unstubAllGlobals();
});

it("asks for what the address says, and leads from bar, group and user to less", async () => {
  answer(reportOf());
  await show("first=2026-10-23&last=2026-10-25&zone=UTC");
  expect(asked).toEqual(["/api/usage/all?first=2026-10-23&last=2026-10-25&zone=UTC&by=model"]);
  const bar = document.querySelectorAll<HTMLAnchorElement>('[aria-label="Bars"] a')[1]!;
  expect(bar.getAttribute("href")).toBe("/admin/?first=2026-10-24&last=2026-10-24&order=cost&zone=UTC");
  expect(bar.getAttribute("aria-label")).toContain("Sat, Oct 24: $0.00");
  expect(document.querySelector('a[title="Only large"]')!.getAttribute("href")).toContain("model=large");
  expect(document.querySelector('[aria-label="Users"] a')!.getAttribute("href")).toContain("user=3");
  expect(document.querySelector('[aria-label="Causes"] a')!.getAttribute("href")).toContain("status=failed");
});

it("lists the requests behind the figures in the address's order, and leads to the reader's own", async () => {
  answer(reportOf());
  await show("first=2026-10-23&last=2026-10-25&zone=UTC&order=cost");
  expect(listed).toEqual([
    "/api/usage/all/requests?first=2026-10-23&last=2026-10-25&zone=UTC&by=model&order=cost",
  ]);
  await vi.waitFor(() => expect(text()).toContain("The first 1 of 3 requests."));
  expect(document.querySelector('a[href="/requests/req_1"]')!.textContent).toBe("Oct 24, 13:03:12");
  const order = document.querySelector<HTMLSelectElement>('[aria-label="Order of the requests"]')!;
  order.value = "first_token";
  order.dispatchEvent(new Event("change", { bubbles: true }));
  expect(onOpen).toHaveBeenCalledWith(expect.stringContaining("order=first_token"));
});

it("opens a table beside a chart, which the address keeps", async () => {
  answer(reportOf());
  await show("tables=use&period=7d");
  expect(
    document.querySelectorAll('[role="region"]:not([aria-label="List of requests"]) tbody tr'),
  ).toHaveLength(3);
  const [first, second] = document.querySelectorAll<HTMLElement>('button[title="Show as a table"]');
  expect(first!.ariaPressed ?? first!.getAttribute("aria-pressed")).toBe("true");
  second!.click();
  expect(onOpen).toHaveBeenCalledWith("/admin/?period=7d&tables=use%2Cusers");
});

it("shows a user's own usage without other users", async () => {
  answer(reportOf({ now: figures({ num_requests: 8, num_unpriced: 12, cost: usd(1) }) }));
  await show("by=user&user=3", { kind: "own" });
  expect(asked[0]).toMatch(/^\/api\/usage\?.*by=model$/);
  expect(text()).toContain("12 requests without a price: their cost is unknown.");
  expect(document.querySelector('[aria-label="Users"]')).toBeNull();
  expect(document.querySelector('a[href^="/admin/"]')).toBeNull();
});

it("says an error in the server's words, and tries again", async () => {
  answer("The period has 9,999 days; the limit is 3,660.");
  await show("");
  expect(document.querySelector('[role="alert"]')!.textContent).toContain("the limit is 3,660.");
  answer(reportOf());
  document.querySelector<HTMLElement>('[role="alert"] button')!.click();
  await vi.waitFor(() => expect(document.querySelector('[aria-label="Bars"]')).not.toBeNull());
  expect(document.querySelector('[role="alert"]')).toBeNull();
});

it("says how to see something where there is nothing", async () => {
  const nothing = { now: NOTHING, before: NOTHING, groups: [], leaders: [], causes: [] };
  answer(reportOf(nothing));
  await show("");
  expect(text()).toContain("manage.py seed_demo");
  await unmount(page);
  await show("model=large");
  expect(text()).toContain("No request of this period matches the filters.");
});

it("says that names with demo- are demonstration data", async () => {
  answer(reportOf({ users: [{ key: "3", label: "demo-docs-1" }] }));
  await show("");
  expect(text()).toContain("demonstration data");
});

it("shows lone points before the page has a width", async () => {
  const times = { num: 1, p50: 10, p95: 20, p99: 30 };
  const timing = { now: times, before: null, points: [times, null, times] };
  answer(reportOf({ speed: { ...reportOf().speed, first_token_us: timing } }));
  await show("");
  expect(document.querySelectorAll(".line-0 circle")).toHaveLength(2);
});

it("asks for the currency of a cost where there are several, and shows each figure apart", async () => {
  const cost = [...usd(4e9), { currency: "EUR", nano: 3e9 }];
  answer(reportOf({ now: figures({ num_requests: 8, cost }) }));
  await show("currency=USD");
  const measure = document.querySelector<HTMLSelectElement>('select[aria-label="Measure"]')!;
  expect([...measure.options].slice(0, 2).map(({ label }) => label)).toEqual(["Cost in EUR", "Cost in USD"]);
  expect(measure.selectedOptions[0]!.label).toBe("Cost in USD");
  expect(
    [...document.querySelectorAll('[aria-label="Figures"] li:first-child b')].map((b) => b.textContent),
  ).toEqual(["€3.00", "$4.00"]);
  measure.value = "0";
  measure.dispatchEvent(new Event("change", { bubbles: true }));
  expect(onOpen).toHaveBeenCalledWith("/admin/?currency=EUR");
});

it("offers the values that earlier reports had, while one is filtered by", async () => {
  answer(reportOf({ models: ["large", "small"].map((key) => ({ key, label: key })) }));
  const props = $state({ query: "", onOpen });
  page = mount(UsagePage, { target: document.body, props });
  await vi.waitFor(() => expect(document.querySelector('[aria-busy="false"]')).not.toBeNull());
  answer(reportOf());
  props.query = "model=large";
  await vi.waitFor(() => expect(asked.at(-1)).toContain("model=large"));
  const options = [...document.querySelectorAll<HTMLOptionElement>(".filters label:first-child option")];
  expect(options.map(({ label }) => label)).toEqual(["All models", "large", "small"]);
});

it("takes a period by name or by its days, and a zone by a name that there is", async () => {
  answer(reportOf());
  await show("first=2026-10-23&last=2026-10-25&zone=UTC");
  const change = (field: HTMLInputElement | HTMLSelectElement, value: string) => {
    field.value = value;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  };
  change(document.querySelector<HTMLInputElement>('input[type="date"]')!, "2026-10-20");
  expect(onOpen).toHaveBeenLastCalledWith("/admin/?first=2026-10-20&last=2026-10-25&zone=UTC");
  change(document.querySelector<HTMLSelectElement>(".choices select")!, "7d");
  expect(onOpen).toHaveBeenLastCalledWith("/admin/?period=7d&zone=UTC");
  onOpen.mockClear();
  const zone = document.querySelector<HTMLInputElement>("input[list]")!;
  change(zone, "Mars/Olympus");
  await vi.waitFor(() => expect(document.querySelector('[role="alert"]')).not.toBeNull());
  expect(onOpen).not.toHaveBeenCalled();
  change(zone, "Asia/Kolkata");
  expect(onOpen).toHaveBeenCalledWith("/admin/?first=2026-10-23&last=2026-10-25&zone=Asia%2FKolkata");
});

it("says what stands out, with the way to its charts and its requests", async () => {
  standsOut = {
    ...QUIET,
    findings: [FINDING, ...[1, 2, 3, 4, 5].map((n) => ({ ...FINDING, key: String(n) }))],
  };
  answer(reportOf());
  await show("first=2026-10-23&last=2026-10-25&zone=UTC");
  await vi.waitFor(() => expect(document.querySelector('[aria-label="Findings"]')).not.toBeNull());
  const items = () => document.querySelectorAll('[aria-label="Findings"] > li');
  expect(items()).toHaveLength(5);
  const link = items()[0]!.querySelector("a")!;
  expect(link.textContent).toContain("3.1 times a usual Saturday");
  const query = new URLSearchParams(link.getAttribute("href")!.split("?")[1]);
  expect(Object.fromEntries(query)).toEqual({
    first: "2026-10-24",
    last: "2026-10-24",
    order: "cost",
    user: "3",
    zone: "UTC",
  });
  items()[0]!.querySelector("button")!.click();
  await vi.waitFor(() => expect(text()).toContain("$0.0000015"));
  expect(items()[0]!.querySelector('a[href="/requests/req_1"]')).not.toBeNull();
  [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "1 more")!.click();
  await vi.waitFor(() => expect(items()).toHaveLength(6));
});

it("says that too little is known where the days before are few", async () => {
  standsOut = { ...QUIET, num_days_known: 2 };
  answer(reportOf());
  await show("", { kind: "own" });
  await vi.waitFor(() =>
    expect(text()).toContain("Too few earlier days have usage to tell what is usual: 2 of"),
  );
});

it("says what the period would have cost, under a question that the address keeps", async () => {
  answer(reportOf());
  await show("first=2026-10-23&last=2026-10-25&zone=UTC");
  await vi.waitFor(() => expect(text()).toContain("+$2.00"));
  const condition = document.querySelector<HTMLSelectElement>('select[aria-label="Condition"]')!;
  condition.value = "factor";
  condition.dispatchEvent(new Event("change", { bubbles: true }));
  expect(onOpen).toHaveBeenCalledWith(
    "/admin/?first=2026-10-23&last=2026-10-25&zone=UTC&whatIf=factor%7E%7E2",
  );
});

it("switches between the own use and that of each group, over the same period", async () => {
  owned = [{ id: 7, name: "<b>research</b>", num_users: 3, role: "owner" }];
  answer(reportOf());
  await show("period=7d&user=3&zone=UTC", { kind: "own" });
  await vi.waitFor(() => expect(document.querySelector('[aria-label="Whose usage"]')).not.toBeNull());
  const way = (name: string) =>
    [...document.querySelectorAll('[aria-label="Whose usage"] a')].find(
      ({ textContent }) => textContent === name,
    )!;
  expect(way("My use").getAttribute("aria-current")).toBe("page");
  expect(way("<b>research</b>").getAttribute("href")).toBe("/usage/groups/7?period=7d&zone=UTC");
  await unmount(page);
  await show("period=7d&user=3&zone=UTC&by=user", { kind: "group", group: 7 });
  expect(asked.at(-1)).toMatch(/^\/api\/usage\/groups\/7\?.*by=user&user=3$/);
  await vi.waitFor(() => expect(text()).toContain("Usage of <b>research</b>"));
  expect(text()).toContain("Requests of the owners and members whom the group has now.");
  expect(way("My use").getAttribute("href")).toBe("/usage?period=7d&zone=UTC");
  await vi.waitFor(() => expect(listed.at(-1)).toContain("/api/usage/groups/7/requests?"));
  expect(document.querySelector('[aria-label="Condition"]')).toBeNull();
  expect(document.querySelector('a[href="/admin/prices/"]')).toBeNull();
  expect(text()).toContain("You are an owner: manages the people");
  expect([...document.querySelectorAll("button")].map((each) => each.textContent)).toContain("People");
});

it("shows a member and a viewer the sums of a group, and asks for no user", async () => {
  owned = [{ id: 7, name: "research", num_users: 3, role: "viewer" }];
  answer(reportOf({ users: [], leaders: [] }));
  await show("period=7d&user=3&zone=UTC&by=user", { kind: "group", group: 7 });
  await vi.waitFor(() => expect(text()).toContain("You are a viewer: sees the group’s usage"));
  await vi.waitFor(() => expect(asked.at(-1)).toMatch(/by=model$/));
  await vi.waitFor(() => expect(text()).toContain("Requests at once"));
  expect(listed).toEqual([]);
  const buttons = [...document.querySelectorAll("button")].map((each) => each.textContent);
  expect(buttons).not.toContain("People");
  expect(buttons).not.toContain("Limits");
  expect(document.querySelector('[aria-label="Users"]')).toBeNull();
});

it("shows a user without a group no switch, and a stranger the refusal", async () => {
  answer(reportOf());
  await show("", { kind: "own" });
  expect(document.querySelector('[aria-label="Whose usage"]')).toBeNull();
  await unmount(page);
  answer("There is no such group.");
  await show("", { kind: "group", group: 7 });
  expect(document.querySelector('[role="alert"]')!.textContent).toContain("There is no such group.");
  expect(document.querySelector('[aria-label="Whose usage"] a[href="/usage"]')).not.toBeNull();
});

it("shows a user the own limits, with a warning where a budget nears its end", async () => {
  const limit = { subject: "user", num_taken: 0, refill_per_s: 0, reset_unix_us: null } as const;
  limits = [
    { limit: { ...limit, name: "concurrency", limit: 8, remaining: 7, currency: "" }, is_warned: false },
    {
      limit: { ...limit, name: "daily_budget", limit: 2e9, remaining: 4e8, currency: "USD" },
      is_warned: true,
    },
  ];
  answer(reportOf());
  await show("", { kind: "own" });
  await vi.waitFor(() => expect(text()).toContain("7 of 8 left"));
  expect(text()).toContain("The budget of the day is used up by 80 %: $0.40 of $2.00 is left.");
});
