// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { mount, unmount } from "svelte";
import type { PersonState, Session, UserData } from "../../protocol/api";
import { NOTHING } from "../../charts/fixtures";
import PersonView from "./PersonView.svelte";

const OWN = {
  max_open: null,
  requests_per_minute: null,
  input_tokens_per_minute: null,
  output_tokens_per_minute: null,
  tokens_per_day: null,
  daily_budget_nano: null,
  monthly_budget_nano: null,
  may_share: null,
  may_probe: null,
  may_rerun: null,
};
const INTACT = { name: "<b>anna</b>", is_erased: false, erasure: null };
let isStopped = false;
let posted: { address: string; body: unknown }[] = [];
let refusal = "";
let view: object;
/** The account as an erasure has left it. */
let erased: { name: string; is_erased: boolean; erasure: "searching" | null } = INTACT;

const held = (): UserData => ({
  ...erased,
  user_id: 7,
  goes: [],
  stays: [],
  begun_at: null,
  num_deleted: 0,
  is_last_superuser: false,
  may_export: true,
  may_erase: !erased.is_erased,
});

const state = (): PersonState => ({
  person: {
    id: 7,
    name: erased.name,
    groups: [],
    is_active: true,
    is_superuser: false,
    views_only: false,
    is_stopped: isStopped,
    stopped_groups: [],
    has_own_limits: false,
    last_seen: null,
    use: NOTHING,
  },
  is_erased: erased.is_erased,
  email: "",
  joined_at: "2026-10-01T00:00:00Z",
  stop_reason: isStopped ? "Too much" : null,
  limits: { ...OWN, max_open: 8, may_share: true, may_probe: true, may_rerun: true, sources: {} },
  own_limits: OWN,
  num_open: 2,
  left_this_minute: null,
  tokens_today: null,
  requests: [],
});

beforeEach(() => {
  [isStopped, posted, refusal, erased] = [false, [], "", INTACT];
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
  HTMLDialogElement.prototype.close = function () {
    this.open = false;
  };
  vi.stubGlobal("fetch", (address: string, { method, body }: RequestInit) => {
    if (method !== "POST") {
      const found = address.endsWith("/data") ? held() : state();
      return Promise.resolve(new Response(JSON.stringify(found)));
    }
    posted.push({ address, body: JSON.parse(body as string) });
    if (refusal)
      return Promise.resolve(
        new Response(JSON.stringify({ error: { code: "forbidden", message: refusal } }), { status: 403 }),
      );
    isStopped = address.endsWith("/stop");
    return Promise.resolve(new Response(JSON.stringify({ num_requests: 2, num_sets: 0 })));
  });
});
afterEach(() => unmount(view).then(() => vi.unstubAllGlobals()));

async function show(permissions: string[], id = 1): Promise<void> {
  const session = { user: { id, name: "olive", is_staff: true, is_superuser: false, permissions } };
  const props = {
    id: "7",
    asked: "zone=UTC",
    query: "",
    zone: "UTC",
    session: session as Session,
    onOpen: vi.fn(),
  };
  view = mount(PersonView, { target: document.body, props });
  await vi.waitFor(() => expect(document.querySelector('[aria-label="Figures"]')).not.toBeNull());
}

const button = (name: string) =>
  [...document.querySelectorAll("button")].find(({ textContent }) => textContent.trim() === name);
const text = () => document.body.textContent.replaceAll(/\s+/g, " ");

it("stops a user after a confirmation, says how many requests ended, and undoes it", async () => {
  await show(["limits.stop_user"]);
  expect(document.querySelector("h1")!.textContent).toBe("<b>anna</b>");
  button("Stop this user now")!.click();
  await vi.waitFor(() => expect(text()).toContain("2 are open now."));
  expect(posted).toEqual([]);
  const reason = document.querySelector<HTMLInputElement>("dialog input")!;
  reason.value = "Too much";
  reason.dispatchEvent(new Event("input", { bubbles: true }));
  document.querySelector("form")!.requestSubmit();
  await vi.waitFor(() => expect(text()).toContain("2 running requests were stopped."));
  expect(posted).toEqual([{ address: "/api/users/7/stop", body: { reason: "Too much" } }]);
  await vi.waitFor(() => expect(text()).toContain("Sending is stopped: Too much"));
  button("Undo the stop")!.click();
  await vi.waitFor(() => expect(document.querySelector("form")).not.toBeNull());
  document.querySelector("form")!.requestSubmit();
  await vi.waitFor(() => expect(text()).toContain("can send again."));
});

it("says a refusal in the server's words", async () => {
  refusal = "anna is a superuser.";
  await show(["limits.stop_user"]);
  button("Stop this user now")!.click();
  await vi.waitFor(() => expect(document.querySelector("form")).not.toBeNull());
  document.querySelector("form")!.requestSubmit();
  await vi.waitFor(() => expect(document.querySelector('[role="alert"]')!.textContent).toBe(refusal));
});

it("offers no stop without the permission, and none of oneself", async () => {
  await show([]);
  expect(button("Stop this user now")).toBeUndefined();
  expect(button("Limits")).toBeUndefined();
  await unmount(view);
  await show(["limits.stop_user", "limits.change_rule"], 7);
  expect(button("Stop this user now")).toBeUndefined();
  expect(button("Limits")).not.toBeUndefined();
});

it("follows an erasure: the account's new name comes, and nothing is offered that it no longer has", async () => {
  erased = { ...INTACT, erasure: "searching" };
  await show(["limits.stop_user", "limits.change_rule", "privacy.erase_user"]);
  await vi.waitFor(() => expect(button("Erase …")).not.toBeUndefined());
  erased = { name: "erased-7", is_erased: true, erasure: "searching" };
  await vi.waitFor(() => expect(document.querySelector("h1")!.textContent).toBe("erased-7"), {
    timeout: 10_000,
  });
  expect(["Stop this user now", "Limits", "Erase …"].map(button)).toEqual([undefined, undefined, undefined]);
}, 15_000);
