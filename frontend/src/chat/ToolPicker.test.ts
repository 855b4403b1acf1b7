// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { api } from "../transport/api";
import ToolPicker from "./ToolPicker.svelte";

const ECHO = {
  name: "files__echo",
  label: "echo (files)",
  description: "Says it again.",
  parameters: "{}",
  needs_approval: true,
  unavailable: "",
};

let picker: object;

afterEach(() => {
  vi.restoreAllMocks();
  return unmount(picker);
});

async function opened(tools: string[], onChange: (tools: string[]) => void = () => {}) {
  vi.spyOn(api, "tools").mockResolvedValue({ tools: [ECHO] });
  picker = mount(ToolPicker, { target: document.body, props: { tools, mustCall: false, onChange } });
  const menu = document.querySelector("ul")!;
  menu.hidePopover = () => {};
  for (const type of ["beforetoggle", "toggle"])
    menu.dispatchEvent(Object.assign(new Event(type), { newState: "open" }));
  await vi.waitFor(() => expect(menu.textContent).toContain("echo (files)"));
  flushSync();
  return [...menu.querySelectorAll<HTMLElement>(".entry")];
}

it("lists a tool of an MCP server with the server's name, and that its calls wait", async () => {
  const [echo] = await opened([]);
  expect(echo!.textContent).toBe("echo (files)Says it again. Each call waits for your approval.");
});

it("lists a chosen tool that is offered no longer, so that it can be turned off", async () => {
  const onChange = vi.fn();
  const entries = await opened(["files__gone", "files__echo"], onChange);
  const gone = entries.find((each) => each.textContent?.includes("files__gone"))!;
  expect(gone.textContent).toContain("Not offered now");
  gone.click();
  expect(onChange).toHaveBeenCalledWith(["files__echo"]);
});

it("leads to the tools of new chats", async () => {
  const entries = await opened([]);
  expect(entries.at(-1)!.getAttribute("href")).toBe("/account");
});
