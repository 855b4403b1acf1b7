// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { AnyEvent } from "../protocol/events";
import { Chat } from "../state/conversation/chat.svelte";
import { Outboxes } from "../state/conversation/outbox.svelte";
import { RequestTrace } from "../state/request/request-trace.svelte";
import { ACCEPTED, ended, PARAMS, RELEASED, token, WITHHELD } from "../trace/fixtures";
import type { Message } from "../protocol/api";
import { Socket } from "../transport/socket";
import MessageRow from "./MessageRow.svelte";

const FIGURES = {
  usage: { uncached_input: 6, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, output: 2 },
  cost_nano: null,
  currency: "",
  finish_reason: "stop",
  max_tokens: 2,
  first_text_us: 1,
};

let row: object;
let chat: Chat;

afterEach(() => {
  vi.useRealTimers();
  chat.close();
  return unmount(row);
});

/** An answer that ended before the page was opened. */
function show(status: Message["status"], finish_reason: string): void {
  const defaults = { id: "m", default_params: PARAMS, default_system_prompt: "", thinks: false };
  chat = new Chat(new Socket(), new Outboxes(1).of(null), defaults);
  const answer = {
    id: "a",
    parent_id: "q",
    role: "assistant",
    text: " a a",
    thinking: null,
    calls: [],
    files: [],
    request_id: "req_a",
    status,
    error: null,
    figures: { ...FIGURES, finish_reason },
    num_kept: null,
  };
  chat.conversation = { id: "c", leaf_id: "b", messages: [answer] } as unknown as Chat["conversation"];
  const shared = { onInspect: vi.fn(), onShow: vi.fn(), onEdit: vi.fn(), onRegenerate: vi.fn() };
  const [message] = chat.conversation!.messages;
  const props = {
    chat,
    message: message!,
    isInspected: false,
    tokenizerUrl: "",
    isModelNamed: false,
    onLimit: vi.fn(),
    ...shared,
  };
  row = mount(MessageRow, { target: document.body, props });
  flushSync();
}

function read(events: AnyEvent[]): void {
  const trace = new RequestTrace("req_a");
  events.forEach((event, index) => trace.receive(event, index + 1));
  chat.traces.req_a = trace;
  flushSync();
}

const notice = () => document.querySelector(".ending, .notice")?.textContent.trim() ?? "";
const buttons = () =>
  [...document.querySelectorAll(".ending button")].map((button) => button.textContent.trim());
const WRITTEN = [
  { ...ACCEPTED, params: { ...PARAMS, max_tokens: 2 } } as AnyEvent,
  token(0, 1),
  token(1, 2),
  RELEASED,
];

it.each([
  ["done", "repetition", "The answer repeated itself.", ["Try again", "Go on anyway"]],
  ["done", "length", "Stopped at 2 tokens.", ["Continue", "Change limit"]],
  ["stopped", "abort", "Stopped.", ["Continue"]],
] as const)(
  "shows how an answer that is %s (%s) ended and what may be done, before its events are read and after",
  (status, reason, sentence, actions) => {
    show(status, reason);
    expect(notice()).toContain(sentence);
    expect(buttons()).toEqual(actions);
    const context = { type: "context.assembled", at: 1, window: 99, num_prompt_tokens: 6, segments: [] };
    const stop = status === "stopped" ? [{ type: "request.cancelled", at: 3, by: "user" }] : [];
    const events = [...WRITTEN, context, ...stop, ...ended(reason as "length")] as AnyEvent[];
    // As they come, and when all are there.
    for (const num of [1, 4, events.length]) {
      read(events.slice(0, num));
      expect(notice()).toContain(sentence);
      expect(buttons()).toEqual(actions);
    }
  },
);

it("says that text was withheld without its events, and reads it aloud to none who had it before", () => {
  show("withheld", "content_filter");
  expect(notice()).toContain("withheld the rest of the answer");
  read([...WRITTEN, WITHHELD, ...ended("content_filter")]);
  expect(notice()).toContain("withheld the rest of the answer");
  expect(document.querySelector('[role="alert"]')).toBeNull();
});

const state = () => document.querySelector(".summary")!.textContent.replaceAll("\u00a0", " ").trim();

it("counts the seconds without a token, says that a worker ended, and goes back to writing", () => {
  vi.useFakeTimers();
  show("streaming", "");
  const at = (position: number) => token(position, 600_000 + position * 10_000);
  const started = [ACCEPTED, at(0), at(1), at(2)];
  read(started);
  const wait = (ms: number) => {
    vi.advanceTimersByTime(ms);
    flushSync();
  };
  wait(1499);
  expect(state()).toMatch(/^writing/);
  wait(1);
  expect(state()).toMatch(/^waiting no token for 2 s3 tokens/);
  wait(2000);
  expect(state()).toMatch(/^waiting no token for 4 s3 tokens/);
  const worker = { attempt: 1, cause: "lost", silent_us: 3_500_000, generation: 0 };
  const ended = { type: "generation.interrupted", at: 4_200_000, ...worker } as unknown as AnyEvent;
  read([...started, ended]);
  expect(state()).toMatch(/^the worker ended; another goes on/);
  wait(5000);
  expect(state()).toMatch(/^the worker ended; another goes on/);
  read([...started, ended, token(3, 5_000_000)]);
  expect(state()).toMatch(/^writing/);
});

it("does not call a slow model's usual pause a silence", () => {
  vi.useFakeTimers();
  show("streaming", "");
  read([ACCEPTED, token(0, 1_000_000), token(1, 3_000_000)]);
  vi.advanceTimersByTime(5500);
  flushSync();
  expect(state()).toMatch(/^writing/);
  vi.advanceTimersByTime(500);
  flushSync();
  expect(state()).toMatch(/^waiting no token for 6 s/);
});

it("does not say that an answer is written that the page may no longer follow", () => {
  show("streaming", "");
  read([ACCEPTED, token(0, 1_000_000)]);
  chat.traces.req_a!.refusal = "Sign in again to go on watching; the answer goes on by itself.";
  flushSync();
  expect(state()).toMatch(/^not followed/);
});
