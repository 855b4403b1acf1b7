// @vitest-environment jsdom
import { mount, tick, unmount } from "svelte";
import { afterEach, expect, it, vi } from "vitest";
import TracePicker from "./TracePicker.svelte";

const row = (id: string) => ({ id, title: id, created_at: "2026-01-01T00:00:00Z", first_text_us: null });

afterEach(() => vi.unstubAllGlobals());

it("goes on to older traces of the same search, and keeps what is chosen", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (path: string) => {
    asked.push(path.slice(path.indexOf("?")));
    const page = path.includes("cursor=c1")
      ? { requests: [row("old")], next_cursor: null }
      : { requests: [row("new")], next_cursor: "c1" };
    return Promise.resolve(new Response(JSON.stringify(page)));
  });
  let address = "";
  const onOpen = (to: string) => (address = to);
  const picker = mount(TracePicker, { target: document.body, props: { chosen: [], onOpen } });
  const boxes = () => [...document.querySelectorAll<HTMLInputElement>("[type=checkbox]")];
  const button = (name: string) =>
    [...document.querySelectorAll("button")].find((each) => each.textContent.trim().startsWith(name));
  await vi.waitFor(() => expect(boxes()).toHaveLength(1));
  boxes()[0]!.click();
  button("Older traces")!.click();
  await vi.waitFor(() => expect(boxes()).toHaveLength(2));
  expect([boxes()[0]!.checked, button("Older traces")]).toEqual([true, undefined]);
  await vi.waitFor(() => expect(document.activeElement).toBe(boxes()[1]));
  boxes()[1]!.click();
  await tick();
  button("Compare")!.click();
  expect([address.includes("new"), address.includes("old")]).toEqual([true, true]);
  expect(asked).toEqual(["?q=", "?q=&cursor=c1"]);
  await unmount(picker);
});
