import { afterEach, expect, test, vi } from "vitest";
import { EventStream } from "./stream";

class RefusedSource extends EventTarget {
  static readonly CLOSED = 2;
  static numOpened = 0;
  readonly readyState = 2;

  constructor() {
    super();
    RefusedSource.numOpened += 1;
    queueMicrotask(() => this.dispatchEvent(new Event("error")));
  }

  close(): void {}
}

afterEach(() => vi.unstubAllGlobals());

test("a stream that the server refuses says why and is not asked for again", async () => {
  vi.stubGlobal("EventSource", RefusedSource);
  const answer = { error: { code: "trace_unreadable", message: "The trace is damaged." } };
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(JSON.stringify(answer), { status: 409 })));
  const why = await new Promise((resolve) => {
    const ignore = () => undefined;
    new EventStream("req_a", { onEvent: ignore, onEnd: ignore, onLost: ignore, onRefused: resolve });
  });
  expect(why).toBe("The trace is damaged.");
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(RefusedSource.numOpened).toBe(1);
});
