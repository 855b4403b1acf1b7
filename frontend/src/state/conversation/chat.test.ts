// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync } from "svelte";
import { ACCEPTED, ended, PARAMS, RELEASED, token } from "../../trace/fixtures";
import type { Message } from "../../protocol/api";
import { UNREACHABLE } from "../../transport/api";
import { FakeSocket } from "../../transport/fake-socket";
import { Socket } from "../../transport/socket";
import { Chat, MOST_TRACES } from "./chat.svelte";
import { chooseModel } from "./model-choice";
import { Outboxes } from "./outbox.svelte";

const message = (id: string, parent_id: string | null): Message => ({
  id,
  parent_id,
  role: parent_id ? "assistant" : "user",
  text: "",
  key: null,
  created_at: "",
  request_id: parent_id && `req_${id}`,
  is_imported: false,
  thinking: null,
  calls: [],
  files: [],
  model: null,
  status: parent_id ? "streaming" : null,
  error: null,
  figures: null,
  forked_from: null,
  fork_position: null,
  num_kept: null,
});

const USUAL = { tools: [], memory: true, speculation: true };

let asked: { path: string; body: Record<string, unknown>; key: string | null }[];
let outboxes: Outboxes;
let socket: Socket;
let chat: Chat;
/** Says no to each message but these; null: to none. */
let taken: string[] | null;
/** The server's copy of the conversation. */
let stored: Record<string, unknown> & { leaf_id: string; messages: Message[] };
/** The features of new chats; null: the server does not tell them. */
let usual: { tools: string[]; memory: boolean; speculation: boolean } | null;
/** Requests to these paths are answered when the test says so: they have been served until then. */
let held: { path: string; answer: (response?: Response | Error) => void }[];
let holding: string | null;

/** A server that gives as many answers as were asked for. */
function reply(path: string, method: string, body: { n?: number }): unknown {
  if (path === "/api/new-chats") return usual;
  if (method === "GET") return stored;
  if (path.endsWith("/fork")) return { assistant_message: message("f", "q"), siblings: [] };
  if (path === "/api/conversations") return { id: "c", leaf_id: "", ...USUAL, messages: [], ...body };
  const [first, ...siblings] = Array.from({ length: body.n ?? 0 }, (_, place) => message(`a${place}`, "q"));
  return { user_message: message("q", null), assistant_message: first, siblings, title: "Hello" };
}

type Init = { method: string; body?: string; headers: Record<string, string> };

function answer(path: string, { method, body, headers }: Init): Promise<Response> {
  const sent = body ? (JSON.parse(body) as Record<string, unknown>) : {};
  asked.push({ path, body: sent, key: headers["Idempotency-Key"] ?? null });
  const isRefused = taken && path.endsWith("/messages") && !taken.includes(String(sent.text));
  if (path === "/api/new-chats" && !usual) return Promise.reject(new TypeError("offline"));
  const response = isRefused
    ? new Response('{"error": {"code": "x", "message": "No."}}', { status: 400 })
    : new Response(JSON.stringify(reply(path, method, sent)));
  if (holding === null || !path.endsWith(holding)) return Promise.resolve(response);
  return new Promise((resolve, reject) => {
    const end = (other: Response | Error = response) =>
      other instanceof Error ? reject(other) : resolve(other);
    held.push({ path, answer: end });
  });
}

const SMALL = {
  id: "small",
  default_params: { ...PARAMS },
  default_system_prompt: "Be brief.",
  thinks: false,
};
const BIG = {
  id: "big",
  default_params: { ...PARAMS, temperature: 0.9 },
  default_system_prompt: "Be kind.",
  thinks: false,
};

function newChat(id: string | null): Chat {
  return new Chat(socket, outboxes.of(id), SMALL);
}

beforeEach(async () => {
  asked = [];
  taken = holding = null;
  usual = { ...USUAL };
  held = [];
  stored = { id: "c", leaf_id: "", ...USUAL, messages: [] };
  sessionStorage.clear();
  FakeSocket.all = [];
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("fetch", answer);
  socket = new Socket();
  socket.open();
  FakeSocket.last.accept();
  outboxes = new Outboxes(1);
  chat = newChat(null);
  chat.onCreated = (id) => outboxes.begin(id);
  chat.n = 3;
  await chat.send("Hello", 0);
  chat.n = 1;
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

it("begins a conversation with the chosen model and its own settings", async () => {
  const other = newChat(null);
  await chooseModel(other, BIG, SMALL);
  expect([other.params.temperature, other.systemPrompt]).toEqual([0.9, "Be kind."]);
  await other.send("Hello", 0);
  const created = asked.findLast(({ path }) => path === "/api/conversations")!;
  expect(created.body).toMatchObject({
    model: "big",
    system_prompt: "Be kind.",
    params: { temperature: 0.9 },
  });
  other.close();
});

it("begins with the user's features of new chats", async () => {
  usual = { tools: ["calculator"], memory: false, speculation: false };
  const other = newChat(null);
  await other.open(null);
  expect([other.tools, other.memory, other.speculation]).toEqual([["calculator"], false, false]);
  await other.send("Hello", 0);
  expect(asked.findLast(({ path }) => path === "/api/conversations")!.body).toMatchObject(usual);
  other.close();
});

it("begins no conversation before it knows the user's features, and keeps a choice made meanwhile", async () => {
  usual = null;
  const other = newChat(null);
  await other.open(null);
  expect(other.problem).toBeNull();
  await other.useTools(["units"]);
  const num = asked.length;
  expect(await other.send("Hello", 0)).toBe(false);
  expect(asked.slice(num).map(({ path }) => path)).toEqual(["/api/new-chats"]);
  usual = { tools: ["calculator"], memory: false, speculation: true };
  await other.retry(other.outbox.messages[0]!, "Hello", 0);
  const { body } = asked.findLast(({ path }) => path === "/api/conversations")!;
  expect(body).toMatchObject({ tools: ["units"], memory: false, speculation: true });
  other.close();
});

it("keeps settings of the user's own with another model", async () => {
  chat.params = { ...chat.params, top_k: 7 };
  chat.systemPrompt = "Rhyme.";
  await chooseModel(chat, BIG, SMALL);
  expect(asked.at(-1)).toMatchObject({
    path: "/api/conversations/c",
    body: { model: "big", system_prompt: "Rhyme.", params: { top_k: 7 } },
  });
});

it("sends a message to the chosen model, once the server has the choice", async () => {
  holding = "/conversations/c";
  const choosing = chooseModel(chat, BIG, SMALL);
  const sending = chat.send("And now?", 0);
  await vi.waitFor(() => expect(held).toHaveLength(1));
  expect(asked.at(-1)!.path).toBe("/api/conversations/c");
  held[0]!.answer();
  await Promise.all([choosing, sending]);
  expect(asked.at(-1)!.path).toBe("/api/conversations/c/messages");
  expect(chat.conversation!.model).toBe("big");
});

it("stays with its model where another one is refused, and sends no message that meant the other", async () => {
  holding = "/conversations/c";
  const choosing = chooseModel(chat, BIG, SMALL);
  const sending = chat.send("And now?", 0);
  await vi.waitFor(() => expect(held).toHaveLength(1));
  held[0]!.answer(new Response('{"error": {"code": "unknown_model", "message": "No."}}', { status: 404 }));
  await choosing;
  expect(await sending).toBe(false);
  expect([chat.model, chat.systemPrompt]).toEqual(["small", "Be brief."]);
  expect(asked.some(({ path, body }) => path.endsWith("/messages") && body.text === "And now?")).toBe(false);
});

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

const left = (outbox = chat.outbox) => outbox.messages.map(({ text, refusal }) => [text, refusal?.message]);

it("keeps every message that was refused until it is sent or discarded", async () => {
  end(0);
  taken = [];
  expect(await chat.send("One", 0)).toBe(false);
  await chat.send("Two", 0);
  await chat.send("Three", 0);
  expect(left()).toEqual([
    ["One", "No."],
    ["Two", "No."],
    ["Three", "No."],
  ]);
  taken = ["Two, changed"];
  await chat.retry(chat.outbox.messages[0]!, "One", 0);
  expect(left()[0]).toEqual(["One", "No."]);
  expect(await chat.retry(chat.outbox.messages[1]!, "Two, changed", 0)).toBe(true);
  chat.outbox.remove(chat.outbox.messages[0]!.id);
  expect(left()).toEqual([["Three", "No."]]);
});

it("sends what was refused after what has come since, and a changed message where it stood", async () => {
  end(0);
  taken = [];
  await chat.send("Late", 0);
  await chat.send("Hello again", 0, chat.path[0]);
  expect(chat.path.map(({ id }) => id)).toEqual(["q", "a0"]);
  taken = ["Late", "Hello again"];
  asked = [];
  await chat.retry(chat.outbox.messages[0]!, "Late", 0);
  await chat.retry(chat.outbox.messages[0]!, "Hello again", 0);
  expect(asked.map(({ body }) => body.parent_id)).toEqual(["a0", null]);
  expect(chat.outbox.messages).toEqual([]);
});

/** Leave a chat that has not begun while its first message is on its way. */
async function leaveInFlight() {
  const begun = newChat(null);
  const onCreated = vi.fn();
  begun.onCreated = onCreated;
  holding = "/messages";
  const sent = begun.send("On its way", 0);
  await vi.waitFor(() => expect(held).toHaveLength(1));
  begun.close();
  holding = null;
  return { begun, onCreated, sent };
}

it("changes no page when its first message arrives after it was left", async () => {
  const { begun, onCreated, sent } = await leaveInFlight();
  const numFollowed = follows().length;
  const beside = newChat(null);
  expect(beside.sending?.text).toBe("On its way");
  beside.outbox.draft = "Something else";
  held[0]!.answer();
  await sent;
  expect(onCreated).not.toHaveBeenCalled();
  expect([begun.path, begun.traces, follows().length]).toEqual([[], {}, numFollowed]);
  // Gone from what a reload would find, too; the draft of the page now shown stays.
  expect(new Outboxes(1).of(null)).toMatchObject({ draft: "Something else", messages: [] });
});

it("keeps what was refused after its page was left, for the page that is shown", async () => {
  const { sent } = await leaveInFlight();
  const beside = newChat(null);
  const refusal = '{"error": {"code": "x", "message": "No."}}';
  held[0]!.answer(new Response(refusal, { status: 400 }));
  await sent;
  expect(left(beside.outbox)).toEqual([["On its way", "No."]]);
});

it("shows a message that was sent from a page that was left on the one that has come since", async () => {
  end(0);
  holding = "/messages";
  const sent = chat.send("Later", 0);
  await vi.waitFor(() => expect(held).toHaveLength(1));
  chat.close();
  holding = null;
  stored.messages = [message("q", null), { ...message("a0", "q"), status: "done" }];
  stored.leaf_id = "a0";
  const back = newChat("c");
  await back.open("c");
  expect(left(back.outbox)).toEqual([["Later", undefined]]);
  const later = {
    ...message("r", "a0"),
    role: "user" as const,
    status: null,
    request_id: null,
    text: "Later",
  };
  stored.messages = [...stored.messages, later, message("b", "r")];
  stored.leaf_id = "b";
  held[0]!.answer();
  await sent;
  await vi.waitFor(() => expect(back.path.map(({ id }) => id)).toEqual(["q", "a0", "r", "b"]));
  expect(left(back.outbox)).toEqual([]);
  back.close();
});

it.each([false, true])(
  "sends nothing before its conversation is there, and then in it (left: %s)",
  async (isLeft) => {
    stored.messages = [message("q", null), { ...message("a0", "q"), status: "done" }];
    stored.leaf_id = "a0";
    Object.assign(stored, { params: { temperature: 0.25 }, n: 2 });
    const opened = newChat("d");
    holding = "/api/conversations/d";
    stored.id = "d";
    asked = [];
    const opening = opened.open("d");
    const sent = opened.send("Early", 0);
    await vi.waitFor(() => expect(held).toHaveLength(1));
    expect(asked).toHaveLength(1);
    if (isLeft) opened.close();
    held[0]!.answer();
    await opening;
    expect(await sent).toBe(true);
    expect(follows()).toHaveLength(isLeft ? 3 : 5);
    expect(asked[1]).toMatchObject({
      path: "/api/conversations/d/messages",
      body: { text: "Early", parent_id: "a0", n: 2, params: { temperature: 0.25 } },
    });
    opened.close();
  },
);

it("keeps a message whose conversation could not be fetched", async () => {
  const opened = newChat("d");
  holding = "/api/conversations/d";
  const opening = opened.open("d");
  const sent = opened.send("Early", 0);
  await vi.waitFor(() => expect(held).toHaveLength(1));
  held[0]!.answer(new TypeError("Failed to fetch"));
  await opening;
  expect(await sent).toBe(false);
  expect(left(opened.outbox)).toEqual([["Early", UNREACHABLE]]);
});

/** The server takes the message, but its reply is lost. */
async function loseReply(lost: Chat, text: string, parentId: string | null) {
  holding = "/messages";
  const sent = lost.send(text, 0);
  await vi.waitFor(() => expect(held).toHaveLength(1));
  const id = `r-${text}`;
  const asks = { ...message(id, null), parent_id: parentId, text, key: asked.at(-1)!.key };
  stored.leaf_id = `b-${text}`;
  stored.messages = [...stored.messages, asks, { ...message(stored.leaf_id, id), status: "done" }];
  held[0]!.answer(new TypeError("Failed to fetch"));
  expect(await sent).toBe(false);
  holding = null;
  asked = [];
}

it("finds a message whose reply was lost before it would send it twice", async () => {
  const lost = newChat(null);
  const onCreated = vi.fn();
  lost.onCreated = onCreated;
  await loseReply(lost, "Once", null);
  expect(left(lost.outbox)).toEqual([["Once", UNREACHABLE]]);
  expect(await lost.retry(lost.outbox.messages[0]!, "Once", 0)).toBe(true);
  expect(asked.map(({ path }) => path)).toEqual(["/api/conversations/c"]);
  expect(lost.path.map(({ id }) => id)).toEqual(["r-Once", "b-Once"]);
  expect([left(lost.outbox), onCreated.mock.calls]).toEqual([[], [["c"]]]);
  lost.close();
});

it("sends again what has not arrived", async () => {
  const lost = newChat(null);
  await loseReply(lost, "Once", null);
  stored.messages = [];
  const key = lost.outbox.messages[0]!.id;
  expect(await lost.retry(lost.outbox.messages[0]!, "Once", 0)).toBe(true);
  expect(asked.map(({ path }) => path)).toEqual(["/api/conversations/c", "/api/conversations/c/messages"]);
  // Should it be on its way all the same, the server takes it once.
  expect(asked[1]!.key).toBe(key);
  lost.close();
});

const REUSED = '{"error": {"code": "key_reused", "message": "This key stands for another message."}}';

it.each([true, false])("looks again where the server knows the key (found: %s)", async (isFound) => {
  const lost = newChat(null);
  await loseReply(lost, "Once", null);
  const arrived = stored.messages;
  stored.messages = [];
  holding = "/messages";
  held = [];
  const sent = lost.retry(lost.outbox.messages[0]!, "Once", 0);
  await vi.waitFor(() => expect(held).toHaveLength(1));
  if (isFound) stored.messages = arrived;
  held[0]!.answer(new Response(REUSED, { status: 422 }));
  expect(await sent).toBe(isFound);
  expect(left(lost.outbox)).toEqual(isFound ? [] : [["Once", "This key stands for another message."]]);
  // It is not certain that the message was taken, so the next try looks again.
  if (!isFound) expect(lost.outbox.messages[0]!.posted).toBe("c");
  lost.close();
});

it("has after a reload what was on its way and has arrived, in a new chat and in another", async () => {
  await loseReply(newChat(null), "Once", null);
  Object.assign(stored, { params: { temperature: 0.25 }, n: 1 });
  outboxes = new Outboxes(1);
  const reloaded = newChat(null);
  const onCreated = vi.fn();
  reloaded.onCreated = onCreated.mockImplementation((id: string) => outboxes.begin(id));
  await reloaded.open(null);
  expect([left(reloaded.outbox), onCreated.mock.calls]).toEqual([[], [["c"]]]);
  expect(reloaded.path.map(({ id }) => id)).toEqual(["r-Once", "b-Once"]);
  expect(reloaded.params.temperature).toBe(0.25);

  held = [];
  await loseReply(reloaded, "Twice", "b-Once");
  expect(left(reloaded.outbox)).toEqual([["Twice", UNREACHABLE]]);
  reloaded.close();
  outboxes = new Outboxes(1);
  const again = newChat("c");
  await again.open("c");
  expect(left(again.outbox)).toEqual([]);
  again.close();
});

it("has each answer once, and follows it once, whichever of reply and look was faster", async () => {
  end(0);
  holding = "/regenerate";
  const answered = { ...message("a9", "q") };
  const regenerated = chat.regenerate(chat.path[1]!, 0);
  await vi.waitFor(() => expect(held).toHaveLength(1));
  stored.messages = [...chat.conversation!.messages, answered];
  stored.leaf_id = "a9";
  await chat.refresh();
  const first = chat.traces.req_a9!;
  const close = vi.spyOn(first, "close");
  const started = { assistant_message: answered, siblings: [], received_unix_us: 0, responded_unix_us: 0 };
  held[0]!.answer(new Response(JSON.stringify(started)));
  await regenerated;
  expect(chat.conversation!.messages.filter(({ id }) => id === "a9")).toHaveLength(1);
  expect(close).toHaveBeenCalledOnce();
  expect(chat.traces.req_a9).not.toBe(first);
});

it("goes on from the last token of an answer that was cut, whose text stands until the new one is there", async () => {
  const { tag } = follows()[0]!;
  const params = { ...PARAMS, max_tokens: 2 };
  const context = { type: "context.assembled", at: 1, window: 100, num_prompt_tokens: 5, segments: [] };
  const written = [{ ...ACCEPTED, params }, context, token(0, 100_000), token(1, 300_000), RELEASED];
  FakeSocket.last.tell({ tag, seq: 1, events: written });
  flushSync();
  const cut = chat.path[1]!;
  expect(chat.canGoOn(cut)).toBe(false);
  FakeSocket.last.tell({ tag, seq: written.length + 1, events: ended("length") });
  FakeSocket.last.tell({ tag, end: true });
  flushSync();
  expect(chat.canGoOn(cut)).toBe(true);
  chat.params.max_tokens = 100;
  await chat.goOn(cut, 0);
  const { path, body } = asked.findLast((each) => each.path.endsWith("/fork"))!;
  expect(path).toBe("/api/requests/req_a0/fork");
  expect(body).toMatchObject({ position: 2, params: { ...PARAMS, max_tokens: 102 } });
  expect(chat.path.at(-1)).toMatchObject({ id: "f", text: " a a" });
});

it("does not go on from an answer that ended by itself", () => {
  const { tag } = follows()[0]!;
  const events = [ACCEPTED, token(0, 100_000), token(1, 300_000), RELEASED, ...ended("stop")];
  FakeSocket.last.tell({ tag, seq: 1, events });
  FakeSocket.last.tell({ tag, end: true });
  flushSync();
  expect(chat.canGoOn(chat.path[1]!)).toBe(false);
});

const FIGURES = { usage: null, first_text_us: 1, cost_nano: null, currency: "", finish_reason: "stop" };

/** So many ended answers beside each other, as the server has them. */
function endedAnswers(num: number): Message[] {
  return Array.from({ length: num }, (_, place) => ({
    ...message(`b${place}`, "q"),
    status: "done" as const,
    text: `Answer ${place}`,
    figures: { ...FIGURES } as Message["figures"],
  }));
}

it("lets go of the events of all but the last few answers, and fetches them again when they are looked at", async () => {
  [0, 1, 2].forEach(end);
  stored.messages = [...chat.conversation!.messages, ...endedAnswers(6)];
  await chat.refresh();
  const looked = chat.conversation!.messages.filter(({ id }) => id.startsWith("b"));
  for (const each of looked.slice(0, 3)) chat.traceOf(each);
  chat.inspected = "req_b0";
  for (const each of looked.slice(3)) chat.traceOf(each);
  // No trace was saved, so each is followed, and ends.
  await vi.waitFor(() => expect(follows()).toHaveLength(9));
  follows().forEach((_, place) => place > 2 && end(place));
  await vi.waitFor(() => expect(chat.traces).not.toHaveProperty("req_a1"));
  const left = Object.keys(chat.traces);
  // The last ones, what the inspector shows, and the answer at the conversation's end.
  expect(left.sort()).toEqual([
    "req_a0",
    "req_b0",
    ...["b1", "b2", "b3", "b4", "b5"].map((id) => `req_${id}`),
  ]);
  expect(left).toHaveLength(MOST_TRACES + 2);
  chat.traceOf(chat.conversation!.messages.find(({ id }) => id === "a1")!);
  expect(chat.traces).toHaveProperty("req_a1");
});

it("keeps the events where the server cannot say what else to show", async () => {
  [0, 1, 2].forEach(end);
  stored.messages = [...chat.conversation!.messages, ...endedAnswers(6)];
  await chat.refresh();
  for (const each of chat.conversation!.messages.filter(({ id }) => id.startsWith("b"))) chat.traceOf(each);
  await vi.waitFor(() => expect(follows()).toHaveLength(9));
  holding = "/api/conversations/c";
  follows().forEach((_, place) => place > 2 && end(place));
  await vi.waitFor(() => expect(held.length).toBeGreaterThan(0));
  for (const { answer } of held) answer(new TypeError("Failed to fetch"));
  // All that follows from the answers has been done then.
  await new Promise((resolve) => setTimeout(resolve));
  expect(Object.keys(chat.traces)).toHaveLength(9);
});

it("sends with a message's own settings that message alone, and again when it was refused", async () => {
  end(0);
  taken = [];
  await chat.send("Sea", 0, null, { temperature: 0.9 });
  taken = null;
  await chat.retry(chat.outbox.messages[0]!, "Sea", 0);
  await chat.send("Next", 0);
  const sent = asked.filter(({ path }) => path.endsWith("/messages")).slice(1);
  expect(sent.map(({ body }) => (body.params as typeof PARAMS).temperature)).toEqual([
    0.9,
    0.9,
    PARAMS.temperature,
  ]);
  expect(chat.params).toEqual(PARAMS);
});

/** The first answer has these many tokens, and was ended because it repeated itself. */
function repeatItself(numTokens: number) {
  const { tag } = follows()[0]!;
  const accepted = { ...ACCEPTED, params: { ...PARAMS, temperature: 0.9 } };
  const tokens = Array.from({ length: numTokens }, (_, position) => token(position, position));
  const events = [accepted, ...tokens, ...ended("repetition")];
  FakeSocket.last.tell({ tag, seq: 1, events });
  FakeSocket.last.tell({ tag, end: true });
  flushSync();
}

it("goes on after an answer that repeated itself with its own settings, and lets it repeat", async () => {
  repeatItself(5);
  await chat.goOn(chat.path[1]!, 0);
  const { path, body } = asked.find(({ path }) => path.endsWith("/fork"))!;
  expect(path).toBe("/api/requests/req_a0/fork");
  expect(body).toMatchObject({ position: 5, params: { temperature: 0.9, stop_on_repetition: false } });
});

it("tries again with another draw, also where the settings name a seed", async () => {
  repeatItself(5);
  chat.params = { ...PARAMS, seed: 7 };
  await chat.regenerate(chat.path[1]!, 0, true);
  await chat.regenerate(chat.path[1]!, 0);
  const seeds = asked.filter(({ path }) => path.endsWith("/regenerate")).map(({ body }) => body.params);
  expect(seeds).toMatchObject([{ seed: null }, { seed: 7 }]);
});

it("goes on from an answer whose events were let go, once they are read again", async () => {
  [0, 1, 2].forEach(end);
  const usage = { uncached_input: 6, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, output: 2 };
  const figures = { ...FIGURES, usage, finish_reason: "length", max_tokens: 2 } as Message["figures"];
  stored.messages = [...chat.conversation!.messages, { ...endedAnswers(1)[0]!, figures }];
  await chat.refresh();
  const cut = chat.conversation!.messages.find(({ id }) => id === "b0")!;
  expect(chat.canGoOn(cut)).toBe(true);
  chat.params.max_tokens = 100;
  const going = chat.goOn(cut, 0);
  // No trace was saved, so it is followed.
  await vi.waitFor(() => expect(follows()).toHaveLength(4));
  expect(asked.some(({ path }) => path.endsWith("/fork"))).toBe(false);
  const { tag } = follows()[3]!;
  const params = { ...PARAMS, max_tokens: 2 };
  const events = [{ ...ACCEPTED, params }, token(0, 1), token(1, 2), RELEASED, ...ended("length")];
  FakeSocket.last.tell({ tag, seq: 1, events });
  FakeSocket.last.tell({ tag, end: true });
  await going;
  const { body } = asked.findLast(({ path }) => path.endsWith("/fork"))!;
  expect(body).toMatchObject({ position: 2, params: { max_tokens: 102 } });
});

it("tells when the settings of a conversation are known, which are entered only then", async () => {
  Object.assign(stored, { params: { temperature: 0.1 }, n: 3, system_prompt: "Rhyme." });
  holding = "/c";
  const other = newChat("c");
  void other.open("c");
  const known = other.opened().then(() => [other.params.temperature, other.n, other.systemPrompt]);
  held[0]!.answer();
  expect(await known).toEqual([0.1, 3, "Rhyme."]);
  await expect(newChat(null).opened()).resolves.toBeUndefined();
});

it("has another basis for the next request with other settings, another branch, and a system prompt once it is kept", async () => {
  end(0);
  const seen = [chat.basis];
  const isNew = () => {
    const { basis } = chat;
    const known = seen.includes(basis);
    seen.push(basis);
    return !known;
  };
  expect(isNew()).toBe(false);
  chat.params.temperature = 1.5;
  expect(isNew()).toBe(true);
  await chat.show(chat.conversation!.messages.find(({ id }) => id === "a1")!);
  expect(isNew()).toBe(true);
  chat.systemPrompt = "Rhyme.";
  expect(isNew()).toBe(false);
  await chat.configure();
  expect(isNew()).toBe(true);
});

it("keeps the events of all answers in sight, however many, and lets go of those that leave it", async () => {
  [0, 1, 2].forEach(end);
  stored.messages = [...chat.conversation!.messages, ...endedAnswers(8)];
  await chat.refresh();
  const answers = chat.conversation!.messages.filter(({ id }) => id.startsWith("b"));
  const ids = answers.map(({ request_id }) => request_id!);
  for (const each of answers) chat.see(each, true);
  await vi.waitFor(() => expect(follows()).toHaveLength(11));
  follows().forEach((_, place) => place > 2 && end(place));
  await vi.waitFor(() => expect(ids.every((id) => chat.traces[id]?.isEnded)).toBe(true));
  // All that follows from the ends has been done then.
  await new Promise((resolve) => setTimeout(resolve));
  expect(ids.filter((id) => chat.traces[id])).toEqual(ids);
  for (const each of answers) chat.see(each, false);
  await vi.waitFor(() => expect(Object.keys(chat.traces)).toHaveLength(MOST_TRACES + 1));
  expect(follows()).toHaveLength(11);
});
