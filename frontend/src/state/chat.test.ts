import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync } from "svelte";
import { PARAMS } from "../trace/fixtures";
import type { Message } from "../transport/api";
import { FakeSocket } from "../transport/fake-socket";
import { Socket } from "../transport/socket";
import { Chat } from "./chat.svelte";

const message = (id: string, parent_id: string | null): Message => ({
  id,
  parent_id,
  role: parent_id ? "assistant" : "user",
  text: "",
  created_at: "",
  request_id: parent_id && `req_${id}`,
  status: parent_id ? "streaming" : null,
  error: null,
  figures: null,
  forked_from: null,
  fork_position: null,
  num_kept: null,
});

let asked: { path: string; body: Record<string, unknown> }[];
let chat: Chat;
/** Says no to each message but these; null: to none. */
let taken: string[] | null;

/** A server that gives as many answers as were asked for. */
function reply(path: string, body: { n?: number } = {}): unknown {
  if (path === "/api/conversations") return { id: "c", leaf_id: "", messages: [], ...body };
  const [first, ...siblings] = Array.from({ length: body.n ?? 0 }, (_, place) => message(`a${place}`, "q"));
  return { user_message: message("q", null), assistant_message: first, siblings, title: "Hello" };
}

beforeEach(async () => {
  asked = [];
  taken = null;
  FakeSocket.all = [];
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("fetch", (path: string, { body }: { body?: string }) => {
    const sent = body ? (JSON.parse(body) as Record<string, unknown>) : {};
    asked.push({ path, body: sent });
    if (taken && path.endsWith("/messages") && !taken.includes(String(sent.text)))
      return Promise.resolve(new Response('{"error": {"code": "x", "message": "No."}}', { status: 400 }));
    return Promise.resolve(new Response(JSON.stringify(reply(path, sent))));
  });
  const socket = new Socket();
  socket.open();
  FakeSocket.last.accept();
  chat = new Chat(socket);
  await chat.send("Hello", { params: PARAMS, n: 3 }, 0);
});
afterEach(() => {
  chat.close();
  vi.unstubAllGlobals();
});

const follows = () => FakeSocket.last.sent.filter(({ type }) => type === "follow");

function end(place: number) {
  const { tag } = follows()[place]!;
  const event = { type: "request.failed", at: 1, stage: "generation", code: "internal", message: "" };
  FakeSocket.last.tell({ tag, seq: 1, events: [event] });
  FakeSocket.last.tell({ tag, end: true });
  flushSync();
}

it("shows the first of several answers and follows all", () => {
  expect(chat.path.map(({ id }) => id)).toEqual(["q", "a0"]);
  expect(chat.siblingsOf(chat.path[1]!).map(({ id }) => id)).toEqual(["a0", "a1", "a2"]);
  expect(follows().map(({ request_id }) => request_id)).toEqual(["req_a0", "req_a1", "req_a2"]);
});

it("stops all that are still written, whichever is shown", async () => {
  end(0);
  expect(chat.running).toBe(null);
  expect(chat.writing.map(({ id }) => id)).toEqual(["a1", "a2"]);
  asked = [];
  await chat.stop();
  expect(asked.map(({ path }) => path)).toEqual([
    "/api/requests/req_a1/cancel",
    "/api/requests/req_a2/cancel",
  ]);
});

const asking = { params: PARAMS, n: 1 };
const left = () => chat.unsent.map(({ text, refusal }) => [text, refusal?.message]);

it("keeps every message that was refused until it is sent or discarded", async () => {
  end(0);
  taken = [];
  expect(await chat.send("One", asking, 0)).toBe(false);
  await chat.send("Two", asking, 0);
  await chat.send("Three", asking, 0);
  expect(left()).toEqual([
    ["One", "No."],
    ["Two", "No."],
    ["Three", "No."],
  ]);
  taken = ["Two, changed"];
  await chat.retry(chat.unsent[0]!, "One", asking, 0);
  expect(left()[0]).toEqual(["One", "No."]);
  expect(await chat.retry(chat.unsent[1]!, "Two, changed", asking, 0)).toBe(true);
  chat.discard(chat.unsent[0]!.id);
  expect(left()).toEqual([["Three", "No."]]);
});

it("sends what was refused after what has come since, and a changed message where it stood", async () => {
  end(0);
  taken = [];
  await chat.send("Late", asking, 0);
  await chat.send("Hello again", asking, 0, chat.path[0]);
  expect(chat.path.map(({ id }) => id)).toEqual(["q", "a0"]);
  taken = ["Late", "Hello again"];
  asked = [];
  await chat.retry(chat.unsent[0]!, "Late", asking, 0);
  await chat.retry(chat.unsent[0]!, "Hello again", asking, 0);
  expect(asked.map(({ body }) => body.parent_id)).toEqual(["a0", null]);
  expect(chat.unsent).toEqual([]);
});
