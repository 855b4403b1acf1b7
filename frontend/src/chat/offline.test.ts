// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { Chat } from "../state/conversation/chat.svelte";
import { Outboxes } from "../state/conversation/outbox.svelte";
import { PARAMS } from "../trace/fixtures";
import type { Message } from "../protocol/api";
import { Socket } from "../transport/socket";
import MessageRow from "./MessageRow.svelte";

vi.mock("../sharing/AnswerActions.svelte", () => {
  throw new TypeError("Failed to fetch dynamically imported module");
});

let row: object;
afterEach(() => unmount(row));

it("shows an answer whose further actions cannot be fetched, and fails at nothing", async () => {
  const failed = vi.fn();
  process.on("unhandledRejection", failed);
  const chat = new Chat(new Socket(), new Outboxes(1).of(null), {
    id: "m",
    default_params: PARAMS,
    default_system_prompt: "",
    thinks: false,
  });
  const message = {
    id: "a",
    parent_id: "q",
    role: "assistant",
    text: "Sea",
    thinking: null,
    calls: [],
    files: [],
    request_id: "req_a",
    status: "done",
  };
  const handlers = {
    onInspect: vi.fn(),
    onShow: vi.fn(),
    onEdit: vi.fn(),
    onRegenerate: vi.fn(),
    onLimit: vi.fn(),
  };
  const props = {
    chat,
    message: message as unknown as Message,
    isInspected: false,
    tokenizerUrl: "",
    isModelNamed: false,
    ...handlers,
  };
  row = mount(MessageRow, { target: document.body, props });
  flushSync();
  await vi.dynamicImportSettled();
  await new Promise((resolve) => setTimeout(resolve));
  process.off("unhandledRejection", failed);
  expect(document.querySelector("footer")!.textContent).toContain("Regenerate");
  expect(failed).not.toHaveBeenCalled();
});
