// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { mount, unmount } from "svelte";
import type { SignIn } from "../protocol/api";
import OwnSignIns from "./OwnSignIns.svelte";

const signIn = (id: string, more: Partial<SignIn> = {}): SignIn => ({
  id,
  browser: "Firefox",
  system: "Linux",
  network: "203.0.113.0/24",
  began_at: "2026-03-01T12:00:00Z",
  seen_at: "2026-03-02T12:00:00Z",
  is_this: false,
  ...more,
});

let listed: SignIn[] = [];
let hasPassword = false;
let refusal = "";
let sent: string[] = [];
let page: object;

function answer(address: string, { method }: RequestInit): Promise<Response> {
  sent.push(`${method} ${address}`);
  if (refusal)
    return Promise.resolve(
      new Response(JSON.stringify({ error: { code: "internal", message: refusal } }), { status: 500 }),
    );
  if (method === "DELETE" && address.endsWith("/sign-ins")) {
    const num = listed.length - 1;
    listed = listed.filter(({ is_this }) => is_this);
    return Promise.resolve(new Response(JSON.stringify({ num })));
  }
  if (method === "DELETE") {
    listed = listed.filter(({ id }) => !address.endsWith(id));
    return Promise.resolve(new Response(null, { status: 204 }));
  }
  const found = { sign_ins: listed, idle_minutes: 4320, longest_minutes: 20160, has_password: hasPassword };
  return Promise.resolve(new Response(JSON.stringify(found)));
}

async function show(): Promise<void> {
  vi.stubGlobal("fetch", answer);
  page = mount(OwnSignIns, { target: document.body });
  await vi.waitFor(() => expect(document.querySelector("li, [role=alert]")).not.toBeNull());
}

afterEach(async () => {
  await unmount(page);
  [sent, refusal, hasPassword] = [[], "", false];
  vi.unstubAllGlobals();
});

const text = () => document.body.textContent;
const button = (name: string) =>
  [...document.querySelectorAll<HTMLButtonElement>("button")].find(
    (each) => (each.getAttribute("aria-label") ?? each.textContent.trim()) === name,
  );

it("ends one sign-in, and shows the others", async () => {
  listed = [signIn("a", { is_this: true }), signIn("b", { browser: "", system: "", network: "" })];
  await show();
  expect(text()).toContain("after 3 days without use, and after 14 days in any case");
  expect(text()).toContain("this one");
  await vi.waitFor(() => expect(button("Sign out Unknown browser")!.disabled).toBe(false));
  button("Sign out Unknown browser")!.click();
  await vi.waitFor(() => expect(text()).toContain("Unknown browser is signed out."));
  expect(sent).toContain("DELETE /api/account/sign-ins/b");
  expect(document.querySelectorAll("li")).toHaveLength(1);
  expect(button("Sign out everywhere else")).toBeUndefined();
});

it("ends all others at once", async () => {
  listed = [signIn("a", { is_this: true }), signIn("b"), signIn("c")];
  await show();
  await vi.waitFor(() => expect(button("Sign out everywhere else")!.disabled).toBe(false));
  button("Sign out everywhere else")!.click();
  await vi.waitFor(() => expect(text()).toContain("You are signed out in 2 other places."));
  expect(document.querySelectorAll("li")).toHaveLength(1);
});

it("offers a new password only to an account that has one", async () => {
  [listed, hasPassword] = [[signIn("a", { is_this: true })], true];
  await show();
  expect(document.querySelector('[href="/accounts/password/"]')).not.toBeNull();
});

it("shows the server's refusal", async () => {
  refusal = "Something went wrong here.";
  await show();
  expect(document.querySelector("[role=alert]")!.textContent).toBe(refusal);
});
