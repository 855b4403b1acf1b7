// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { Preview } from "../protocol/api";
import { ApiError } from "../transport/api";
import NextRequest from "./NextRequest.svelte";

const PREVIEW: Preview = {
  window: 8192,
  reserved_output: 300,
  num_prompt_tokens: 40,
  num_output_tokens: 300,
  segments: [
    {
      kind: "system",
      role: "system",
      start: 0,
      end: 30,
      source: "",
      text: "",
      breakpoint: null,
      image: null,
    },
    { kind: "user", role: "user", start: 30, end: 40, source: "", text: "", breakpoint: null, image: null },
  ],
  tools: [],
  dropped: [],
  num_dropped_turns: 0,
  summarised: [],
  num_cached_tokens: 32,
  price: null,
  wait: { num_queued: 0, num_recent: 0, first_text_us: null },
};

let card: object;
let answer: { resolve: (made: Preview) => void; reject: (error: unknown) => void; signal: AbortSignal }[];
const props = $state({
  text: "",
  basis: "",
  isWriting: false,
  numAnswers: 1,
  onAsk: vi.fn(onAsk),
  onClose: vi.fn(),
});

function onAsk(_text: string, signal: AbortSignal): Promise<Preview> {
  return new Promise((resolve, reject) => answer.push({ resolve, reject, signal }));
}

beforeEach(() => {
  vi.useFakeTimers();
  answer = [];
  Object.assign(props, { text: "Hello", basis: "", isWriting: false, onAsk: vi.fn(onAsk), onClose: vi.fn() });
  card = mount(NextRequest, { target: document.body, props });
  flushSync();
});
afterEach(() => {
  void unmount(card);
  vi.useRealTimers();
});

async function rest() {
  await vi.advanceTimersByTimeAsync(1000);
  flushSync();
}

function write(text: string) {
  props.text = text;
  flushSync();
}

it("asks when the draft rests, once for all that was typed", async () => {
  for (const text of ["Hello y", "Hello yo", "Hello you"]) write(text);
  expect(props.onAsk).not.toHaveBeenCalled();
  await rest();
  expect(props.onAsk).toHaveBeenCalledExactlyOnceWith("Hello you", expect.anything());
});

it("gives up a question whose draft has changed, and never shows its answer", async () => {
  await rest();
  write("Something else");
  expect(answer[0]!.signal.aborted).toBe(true);
  await rest();
  answer[1]!.resolve(PREVIEW);
  await rest();
  answer[0]!.resolve({ ...PREVIEW, num_prompt_tokens: 9999 });
  await rest();
  expect(document.body.textContent).toContain("40 of 8,192 tokens");
});

it("shows each part with what of it is cached", async () => {
  await rest();
  answer[0]!.resolve(PREVIEW);
  await rest();
  const rows = [...document.querySelectorAll("tbody tr")].map((row) =>
    [...row.children].map((cell) => cell.textContent?.trim()),
  );
  expect(rows).toEqual([
    ["System prompt", "30", "30"],
    ["Your message", "10", "2"],
  ]);
});

it("shows the tokens of each tool below those of all tools", async () => {
  await rest();
  const declared = {
    kind: "tools",
    role: "system",
    start: 0,
    end: 30,
    source: "",
    text: "",
    breakpoint: null,
    image: null,
  };
  const segments = [declared, PREVIEW.segments[1]!] as Preview["segments"];
  answer[0]!.resolve({ ...PREVIEW, segments, tools: [{ name: "calculator", num_tokens: 12 }] });
  await rest();
  const names = [...document.querySelectorAll("tbody th")].map((cell) => cell.textContent?.trim());
  expect(names).toEqual(["Tools", "calculator", "Your message"]);
  expect(document.body.textContent).toContain("12");
});

it("says why nothing can be sent, and asks nothing for an empty draft", async () => {
  await rest();
  answer[0]!.reject(new ApiError(409, { code: "prompt_too_long", message: "It is too long." }));
  await rest();
  expect(document.body.textContent).toContain("It is too long.");
  write(" ");
  await rest();
  expect(props.onAsk).toHaveBeenCalledTimes(1);
  expect(document.body.textContent).toContain("Write a message");
});

it("asks anew when something else would be sent with the same words", async () => {
  await rest();
  answer[0]!.resolve(PREVIEW);
  await rest();
  props.basis = "other settings";
  flushSync();
  await rest();
  answer[1]!.resolve({ ...PREVIEW, num_prompt_tokens: 77 });
  await rest();
  expect(document.body.textContent).toContain("77 of 8,192 tokens");
});

it("asks nothing while the answer before is written, and asks at its end", async () => {
  props.isWriting = true;
  flushSync();
  await rest();
  expect(props.onAsk).not.toHaveBeenCalled();
  expect(document.body.textContent).toContain("still writing the answer");
  props.isWriting = false;
  flushSync();
  await rest();
  answer[0]!.resolve(PREVIEW);
  await rest();
  expect(document.body.textContent).toContain("40 of 8,192 tokens");
  expect(document.body.textContent).not.toContain("still writing the answer");
});

it.each(["busy", "answer_open"])("tries again by itself where the server said %s", async (code) => {
  await rest();
  answer[0]!.reject(new ApiError(429, { code, message: "Not yet." }));
  await rest();
  await rest();
  expect(props.onAsk).toHaveBeenCalledTimes(2);
  answer[1]!.resolve(PREVIEW);
  await rest();
  expect(document.body.textContent).toContain("40 of 8,192 tokens");
});

it("tries nothing again once the draft has changed or the card was closed", async () => {
  await rest();
  answer[0]!.reject(new ApiError(429, { code: "busy", message: "Not yet." }));
  await vi.advanceTimersByTimeAsync(1);
  write("");
  await rest();
  await rest();
  expect(props.onAsk).toHaveBeenCalledTimes(1);
});

it("closes on Escape, which does nothing else then", () => {
  const event = new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true });
  const elsewhere = vi.fn();
  window.addEventListener("keydown", elsewhere);
  document.body.dispatchEvent(event);
  window.removeEventListener("keydown", elsewhere);
  expect(props.onClose).toHaveBeenCalledOnce();
  expect(elsewhere).not.toHaveBeenCalled();
});
