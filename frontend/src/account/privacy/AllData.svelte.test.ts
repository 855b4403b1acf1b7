// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { mount, unmount } from "svelte";
import type { UserData } from "../../protocol/api";
import AllData from "./AllData.svelte";

const DATA: UserData = {
  user_id: 7,
  name: "anna",
  goes: [{ table: "chat.message", num: 2 }],
  stays: [{ table: "usage.usagerecord", num: 3 }],
  erasure: null,
  begun_at: null,
  num_deleted: 0,
  is_erased: false,
  is_last_superuser: false,
  may_export: true,
  may_erase: true,
};
let page: object;
let sent: [string, string | null][] = [];

beforeEach(() => {
  // jsdom has no modal dialogs.
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
  HTMLDialogElement.prototype.close = function () {
    this.open = false;
  };
});
afterEach(async () => {
  await unmount(page);
  sent = [];
  vi.unstubAllGlobals();
});

async function show(data: UserData): Promise<void> {
  vi.stubGlobal("fetch", (address: string, init: RequestInit) => {
    sent.push([`${init.method} ${address}`, (init.body as string | undefined) ?? null]);
    const found =
      init.method === "POST" ? { ...data, erasure: "stopping", is_erased: true, may_erase: false } : data;
    return Promise.resolve(new Response(JSON.stringify(found)));
  });
  page = mount(AllData, { target: document.body, props: { userId: 7 } });
  await vi.waitFor(() => expect(document.querySelector("[download], .problem")).not.toBeNull());
}

const button = (label: string) =>
  [...document.querySelectorAll<HTMLButtonElement>("button")].find(
    (each) => each.textContent.trim() === label,
  )!;

it("erases only once the name is typed, and tells how far it is", async () => {
  await show(DATA);
  expect(document.body.textContent).toContain("Sightglass holds 2 messages, 3 records of use.");
  button("Erase …").click();
  await vi.waitFor(() => expect(button("Erase for good")).toBeDefined());
  expect(button("Erase for good").disabled).toBe(true);
  const field = document.querySelector<HTMLInputElement>("dialog input")!;
  field.value = "anna";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await vi.waitFor(() => expect(button("Erase for good").disabled).toBe(false));
  button("Erase for good").click();
  await vi.waitFor(() => expect(document.querySelector("[role=status]")!.textContent).toContain("blocked"));
  expect(sent.at(-1)).toEqual(["POST /api/users/7/erasure", '{"name":"anna"}']);
  expect(button("Erase …")).toBeUndefined();
});

it("offers what the reader may do", async () => {
  await show({ ...DATA, may_erase: false });
  expect(document.querySelector("[download]")!.getAttribute("href")).toBe("/api/users/7/export");
  expect(button("Erase …")).toBeUndefined();
});

it("says why the last superuser is not erased", async () => {
  await show({ ...DATA, is_last_superuser: true, may_erase: false });
  expect(document.body.textContent).toContain("This is the last superuser.");
});
