// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { AnyEvent } from "../protocol/events";
import { FakeSocket } from "./fake-socket";
import { Socket } from "./socket";
import { EventStream } from "./stream";

class FakeSource extends EventTarget {
  static readonly CLOSED = 2;
  static all: FakeSource[] = [];
  readyState = 1;

  constructor(readonly url: string) {
    super();
    FakeSource.all.push(this);
  }

  tell(type: string, data: object): void {
    this.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(data) }));
  }

  close(): void {
    this.readyState = 2;
  }
}

let socket: Socket;

beforeEach(() => {
  vi.useFakeTimers();
  FakeSocket.all = [];
  FakeSource.all = [];
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("EventSource", FakeSource);
  socket = new Socket();
  socket.open();
});

afterEach(() => {
  socket.close();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** A stream and what came of it. */
function stream(requestId: string) {
  const found = { seqs: [] as number[], isEnded: false, isLost: false, refusal: "", numAgain: 0 };
  const handlers = {
    onEvent: (_: AnyEvent, seq: number) => void found.seqs.push(seq),
    onAgain: () => {
      found.seqs = [];
      found.numAgain += 1;
    },
    onEnd: () => void (found.isEnded = true),
    onLost: (isLost: boolean) => void (found.isLost = isLost),
    onRefused: (message: string) => void (found.refusal = message),
  };
  return { ...{ found }, stream: new EventStream(requestId, handlers, socket) };
}

const frame = (seq: number, size = 1) => ({
  seq,
  events: Array.from({ length: size }, () => ({ type: "text.released", at: 0, text: "x", num_tokens: 1 })),
});
const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

test("any number of requests share one connection, each with its own frames and end", () => {
  const [a, b] = [stream("req_a"), stream("req_b")];
  FakeSocket.last.accept();
  const c = stream("req_c");
  expect(FakeSocket.all.length).toBe(1);
  expect(FakeSocket.last.sent.map((message) => message.request_id)).toEqual(["req_a", "req_b", "req_c"]);
  FakeSocket.last.tell({ tag: 2, ...frame(1, 2) });
  FakeSocket.last.tell({ tag: 3, ...frame(1) });
  FakeSocket.last.tell({ tag: 2, end: true });
  expect([a, b, c].map((each) => each.found.seqs.length)).toEqual([0, 2, 1]);
  expect([a, b, c].map((each) => each.found.isEnded)).toEqual([false, true, false]);
});

test("a connection that is cut anywhere loses nothing and doubles nothing", () => {
  const log = upTo(60);
  const { found } = stream("req_a");
  let random = 7;
  const chance = (below: number) => (random = (random * 48271) % 2147483647) % below;
  while (FakeSocket.all.length < 200) {
    FakeSocket.last.accept();
    const { tag, after } = FakeSocket.last.sent[0] as { tag: number; after: number };
    // A frame may begin before the place that was asked for.
    for (let seq = Math.max(1, after + 1 - chance(3)), num = chance(5); num > 0 && seq <= 60; num--) {
      const size = Math.min(1 + chance(4), 61 - seq);
      FakeSocket.last.tell({ tag, ...frame(seq, size) });
      seq += size;
      if (seq > 60) FakeSocket.last.tell({ tag, end: true });
    }
    if (found.isEnded) break;
    FakeSocket.last.close();
    expect(found.isLost).toBe(true);
    while (FakeSocket.last.readyState) vi.advanceTimersToNextTimer();
  }
  expect(found.seqs).toEqual(log);
  expect(FakeSocket.all.length).toBeGreaterThan(5);
});

test("a connection that comes back follows after the last seen event, one that ended not at all", () => {
  const [a, b] = [stream("req_a"), stream("req_b")];
  FakeSocket.last.accept();
  FakeSocket.last.tell({ tag: 1, ...frame(1, 3) });
  FakeSocket.last.tell({ tag: 2, end: true });
  FakeSocket.last.close();
  vi.advanceTimersByTime(249);
  expect(FakeSocket.all.length).toBe(1);
  vi.advanceTimersByTime(1);
  FakeSocket.last.accept();
  expect(FakeSocket.last.sent).toEqual([{ type: "follow", tag: 1, request_id: "req_a", after: 3 }]);
  expect([a.found.isLost, b.found.isEnded]).toEqual([false, true]);
});

test("a reader that is told to resume asks again from where it is", () => {
  const { found } = stream("req_a");
  FakeSocket.last.accept();
  FakeSocket.last.tell({ tag: 1, ...frame(1, 2) });
  FakeSocket.last.tell({ tag: 1, resume: 2 });
  expect(FakeSocket.last.sent.at(-1)).toMatchObject({ request_id: "req_a", tag: 2, after: 2 });
  FakeSocket.last.tell({ tag: 1, ...frame(9) }); // of the old one
  FakeSocket.last.tell({ tag: 2, ...frame(3) });
  expect(found.seqs).toEqual([1, 2, 3]);
});

test.each(["websocket", "sse"])(
  "by %s, a log that was lost begins again, and what was had is void",
  (carrier) => {
    const { found } = stream("req_a");
    const isSocket = carrier === "websocket";
    if (isSocket) FakeSocket.last.accept();
    else FakeSocket.last.close();
    const tell = (kind: string, data: object) =>
      isSocket
        ? FakeSocket.last.tell({ tag: 1, ...(kind === "frame" ? data : { [kind]: true }) })
        : FakeSource.all[0]!.tell(kind, data);
    tell("frame", { ...frame(1, 3), id: "3-00112233aabbccdd" });
    tell("again", {});
    expect([found.seqs, found.numAgain]).toEqual([[], 1]);
    tell("frame", { ...frame(1, 2), id: "2-ffeeddccbbaa9988" });
    expect(found.seqs).toEqual([1, 2]);
    if (isSocket) {
      FakeSocket.last.close();
      vi.advanceTimersByTime(250);
      FakeSocket.last.accept();
      expect(FakeSocket.last.sent[0]).toMatchObject({ after: "2-ffeeddccbbaa9988" });
    } else {
      FakeSource.all[0]!.tell("resume", {});
      vi.advanceTimersByTime(1);
      expect(FakeSource.all[1]!.url).toBe("/api/requests/req_a/events?after=2-ffeeddccbbaa9988");
    }
  },
);

test("what was closed is not asked for any more, and a late frame of it goes nowhere", () => {
  const { found, stream: closed } = stream("req_a");
  FakeSocket.last.accept();
  closed.close();
  expect(FakeSocket.last.sent.at(-1)).toEqual({ type: "unfollow", tag: 1 });
  FakeSocket.last.tell({ tag: 1, ...frame(1) });
  expect(found.seqs).toEqual([]);
});

test("much is acknowledged, little is not", () => {
  stream("req_a");
  FakeSocket.last.accept();
  FakeSocket.last.tell({ tag: 1, ...frame(1) });
  expect(FakeSocket.last.sent.length).toBe(1);
  FakeSocket.last.tell({ tag: 1, ...frame(2, 2000) });
  expect(FakeSocket.last.sent.at(-1)).toEqual({ type: "ack", num_messages: 2 });
});

test("a request that the server refuses says why, and the others go on", () => {
  const [a, b] = [stream("req_a"), stream("req_b")];
  FakeSocket.last.accept();
  FakeSocket.last.tell({ tag: 1, error: { code: "trace_unreadable", message: "The trace is damaged." } });
  FakeSocket.last.tell({ tag: 2, ...frame(1) });
  expect(a.found.refusal).toBe("The trace is damaged.");
  expect(b.found.seqs).toEqual([1]);
});

test.each([
  [2, "Sign in again to go on watching; the answer goes on by itself."],
  [0, "Sign in again to see this request."],
])("a sign-in that ended elsewhere, after %i events, is told as what it is", async (num, words) => {
  const error = { code: "not_signed_in", message: "Sign in first, then send the request again." };
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(JSON.stringify({ error }), { status: 401 })));
  const [byFrame, bySse] = [stream("req_a"), stream("req_b")];
  FakeSocket.last.accept();
  if (num) for (const tag of [1, 2]) FakeSocket.last.tell({ tag, ...frame(1, num) });
  FakeSocket.last.tell({ tag: 1, error });
  bySse.stream.fallBack();
  FakeSource.all[0]!.close();
  FakeSource.all[0]!.dispatchEvent(new Event("error"));
  await vi.advanceTimersByTimeAsync(0);
  expect([byFrame.found.refusal, bySse.found.refusal]).toEqual([words, words]);
});

test.each(["refused", "swallowed"])(
  "where a WebSocket is %s, events come by SSE, resumed after the last",
  (how) => {
    const before = stream("req_a");
    if (how === "refused") FakeSocket.last.close();
    else vi.advanceTimersByTime(2000);
    FakeSource.all[0]!.tell("frame", frame(1, 2));
    FakeSource.all[0]!.tell("resume", { after: 2 });
    vi.advanceTimersByTime(1);
    expect(FakeSource.all[1]!.url).toBe("/api/requests/req_a/events?after=2");
    FakeSource.all[1]!.tell("frame", frame(2, 2));
    FakeSource.all[1]!.tell("end", {});
    const after = stream("req_b");
    FakeSource.all[2]!.tell("frame", frame(1));
    expect([before.found.seqs, after.found.seqs]).toEqual([[1, 2, 3], [1]]);
    expect(before.found.isEnded).toBe(true);
    expect(FakeSocket.all.length).toBe(1);
  },
);

test("a server that is away is asked by SSE for what is open, and tried for a WebSocket again", () => {
  const { found } = stream("req_a");
  FakeSocket.last.accept();
  FakeSocket.last.tell({ tag: 1, ...frame(1, 3) });
  FakeSocket.last.close();
  vi.advanceTimersByTime(250);
  FakeSocket.last.close();
  expect(FakeSource.all[0]!.url).toBe("/api/requests/req_a/events?after=3");
  vi.advanceTimersByTime(500);
  FakeSocket.last.accept();
  expect(FakeSocket.last.sent).toEqual([]);
  FakeSource.all[0]!.tell("frame", frame(4));
  stream("req_b");
  expect(FakeSocket.last.sent).toMatchObject([{ request_id: "req_b" }]);
  expect(found.seqs).toEqual([1, 2, 3, 4]);
});

test("a stream that the server refuses over SSE says why and is not asked for again", async () => {
  const answer = { error: { code: "trace_unreadable", message: "The trace is damaged." } };
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(JSON.stringify(answer), { status: 409 })));
  const { found } = stream("req_a");
  FakeSocket.last.close();
  FakeSource.all[0]!.close();
  FakeSource.all[0]!.dispatchEvent(new Event("error"));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(found.refusal).toBe("The trace is damaged.");
  expect(FakeSource.all.length).toBeLessThan(3);
});

test("a page that opens what a stream has opened before has one connection", () => {
  const { stream: first } = stream("req_a");
  socket.open();
  expect(FakeSocket.all).toHaveLength(1);
  FakeSocket.last.accept();
  expect(FakeSocket.last.sent).toMatchObject([{ type: "follow", request_id: "req_a" }]);
  first.close();
});
