// @vitest-environment jsdom
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Frame } from "../../protocol/events";
import { ACCEPTED, token } from "../../trace/fixtures";
import { sceneAt } from "../../trace/journey/scenes";
import { FakeSocket } from "../../transport/fake-socket";
import { Socket } from "../../transport/socket";
import { RequestTrace } from "./request-trace.svelte";

const LOG = new URL("../../../../tests/golden/logs/finished.json", `file://${import.meta.dirname}/`).pathname;
const { frames } = JSON.parse(readFileSync(LOG, "utf8")) as { frames: Frame[] };

let trace: RequestTrace;
let frame: FrameRequestCallback | null = null;
let now = 0;

/** Lets time pass as a page does, frame by frame, until nothing asks for another. */
function pass(ms: number) {
  for (const end = now + ms; now < end && frame;) {
    const next = frame;
    frame = null;
    now += 50;
    next(now);
  }
}

beforeEach(() => {
  now = 1000;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  vi.stubGlobal("requestAnimationFrame", (callback: FrameRequestCallback) => {
    frame = callback;
    return 1;
  });
  trace = RequestTrace.saved(frames);
  trace.speed = "explain";
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe("at the pace that explains", () => {
  it("shows each event for its time, and plays on from scene to scene", () => {
    trace.play();
    expect(trace.beat).toBe(0);
    expect(sceneAt(trace.view)).toBe("gateway");
    pass(500);
    expect(trace.beat).toBeGreaterThan(0.2);
    expect(trace.beat).toBeLessThan(1);
    pass(2000);
    expect(trace.isPlaying).toBe(true);
    expect(sceneAt(trace.view)).toBe("context");
  });

  it("comes through all scenes to the same end as the log itself", () => {
    const seen: string[] = [];
    trace.play();
    while (trace.isPlaying) {
      pass(50);
      const scene = sceneAt(trace.view);
      if (!seen.includes(scene)) seen.push(scene);
    }
    // The check of the message ended after the prompt was cut into tokens: it has a scene of its own there.
    expect(seen).toEqual([
      "gateway",
      "context",
      "tokens",
      "safety",
      "queue",
      "cache",
      "prefill",
      "sampling",
      "release",
      "bill",
    ]);
    expect(trace.view.text).toBe(trace.whole.text);
    expect(trace.view.events.length).toBe(trace.whole.events.length);
  });

  it.each(["blocked", "finished", "lost", "remote", "second_turn", "stopped"])(
    "shows every scene of %s that has events",
    (name) => {
      const log = readFileSync(LOG.replace("finished", name), "utf8");
      trace = RequestTrace.saved((JSON.parse(log) as { frames: Frame[] }).frames);
      trace.speed = "explain";
      const seen = new Set<string>();
      trace.play();
      while (trace.isPlaying) {
        pass(400);
        seen.add(sceneAt(trace.view));
      }
      expect([...seen]).toEqual(trace.story.chapters.map(({ scene }) => scene));
      if (trace.whole.inputCheck) expect(seen).toContain("safety");
    },
  );

  it("is still while it is paused, and goes on where it was", () => {
    trace.play();
    pass(500);
    trace.pause();
    const { beat, view } = trace;
    pass(5000);
    expect(trace.beat).toBe(beat);
    expect(trace.view).toBe(view);
    trace.play();
    pass(100);
    expect(trace.view).toBe(view);
    expect(trace.beat).toBeGreaterThan(beat);
  });

  it("steps event by event, first to the end of what is being shown", () => {
    trace.showScene("sampling", true);
    pass(100);
    expect(trace.beat).toBeLessThan(1);
    trace.stepEvent(1);
    expect([trace.isPlaying, trace.beat, trace.view.tokens.length]).toEqual([false, 1, 1]);
    trace.stepEvent(1);
    expect(trace.view.events.at(-1)!.event.type).toBe("safety.checked");
    trace.stepEvent(-1);
    expect(trace.view.events.at(-1)!.event.type).toBe("token.sampled");
    for (let num = 0; num < 60; num++) trace.stepEvent(1);
    expect(trace.isAtEnd).toBe(true);
    for (let num = 0; num < 60; num++) trace.stepEvent(-1);
    expect(trace.view.events.length).toBe(1);
  });

  it("shows a scene as it ends where no motion is wanted", () => {
    trace.showScene("prefill", false);
    expect([sceneAt(trace.view), trace.beat, trace.isPlaying]).toEqual(["prefill", 1, false]);
    expect(trace.view.prefill.length).toBe(1);
    expect(trace.view.tokens.length).toBe(0);
  });
});

describe("at the request's own pace", () => {
  it("shows each event as it ends where the next comes too soon to see it move", () => {
    trace.speed = 1;
    trace.play();
    const beats = new Set<number>();
    while (trace.isPlaying) {
      pass(50);
      beats.add(trace.beat);
    }
    expect([...beats]).toEqual([1]);
    expect(trace.view.text).toBe(trace.whole.text);
  });

  it("moves where slow motion leaves time for it", () => {
    trace.speed = 0.1;
    trace.showScene("cache", false);
    trace.play();
    pass(200);
    expect(trace.view.events.at(-1)!.event.type).toBe("cache.looked_up");
    expect(trace.beat).toBeGreaterThan(0.2);
    expect(trace.beat).toBeLessThan(1);
  });
});

describe("following a request that runs", () => {
  const events = frames.flatMap((each) => each.events);

  it("shows every scene although the log has ended, and settles on the closest call with the answer whole", () => {
    const live = new RequestTrace("req_a");
    live.startFollowing();
    events.forEach((event, index) => live.receive(event, index + 1));
    const seen = new Map<string, number>();
    while (live.isPlaying) {
      const before = sceneAt(live.view);
      pass(50);
      seen.set(before, (seen.get(before) ?? 0) + 50);
    }
    for (const { scene } of live.story.chapters) expect(seen.get(scene)).toBeGreaterThanOrEqual(700);
    expect([live.isLive, live.isFollowing, live.view.text]).toEqual([true, false, live.whole.text]);
    expect(live.selected).not.toBeNull();
  });

  it("waits for what has not come yet, and goes on when it comes", () => {
    const live = new RequestTrace("req_a");
    live.startFollowing();
    pass(2000);
    expect([live.isPlaying, live.view.events.length]).toEqual([true, 0]);
    live.receive(events[0]!, 1);
    pass(100);
    expect(live.view.events.length).toBe(1);
  });

  it("asks for no frames while nothing comes, and goes on by itself when something does", () => {
    const live = new RequestTrace("req_a");
    live.startFollowing();
    live.receive(events[0]!, 1);
    pass(5000);
    expect([live.isFollowing, live.isPlaying, frame]).toEqual([true, true, null]);
    live.receive(events[1]!, 2);
    expect(frame).not.toBeNull();
    pass(2000);
    live.pause();
    live.play();
    pass(2000);
    events.slice(2).forEach((event, index) => live.receive(event, index + 3));
    pass(60_000);
    expect([live.isLive, live.view.text]).toEqual([true, live.whole.text]);
  });

  it("ends where the server sends no more, though the request is not over", () => {
    vi.stubGlobal("WebSocket", FakeSocket);
    const socket = new Socket();
    socket.open();
    FakeSocket.last.accept();
    const live = new RequestTrace("req_a");
    live.open(socket);
    live.startFollowing();
    live.receive(events[0]!, 1);
    pass(5000);
    const { tag } = FakeSocket.last.sent.at(-1)!;
    FakeSocket.last.tell({ tag, error: { message: "The trace is gone." } });
    pass(5000);
    expect([live.refusal, live.isFollowing, live.isPlaying]).toEqual(["The trace is gone.", false, false]);
  });

  it("ends where the reader takes the playhead, pauses where they pause, and can be skipped", () => {
    const live = new RequestTrace("req_a");
    live.startFollowing();
    events.forEach((event, index) => live.receive(event, index + 1));
    pass(1000);
    expect(live.behind).toBeGreaterThan(0);
    live.pause();
    const { view } = live;
    pass(2000);
    expect(live.view).toBe(view);
    live.play();
    pass(1000);
    expect([live.isFollowing, live.view === view]).toEqual([true, false]);
    live.showUpTo(5);
    expect([live.isFollowing, live.isPlaying, live.view.events.length]).toEqual([false, false, 5]);
    live.startFollowing();
    live.follow();
    expect([live.isFollowing, live.isLive, live.behind]).toEqual([false, true, 0]);
  });

  it("is stills up to the first tokens where no motion is wanted", () => {
    const live = new RequestTrace("req_a");
    live.startFollowing(true);
    events.forEach((event, index) => live.receive(event, index + 1));
    pass(9000);
    expect([live.isFollowing, live.isLive]).toEqual([false, true]);
  });
});

describe("what is looked at", () => {
  it("is the chosen token while more come, until the playhead is moved or goes along again", () => {
    const live = new RequestTrace("req_a");
    [ACCEPTED, token(0, 100_000), token(1, 300_000)].forEach((event, index) =>
      live.receive(event, index + 1),
    );
    live.selected = 0;
    live.receive(token(2, 400_000), 4);
    expect([live.selected, live.isLive, live.view.tokens.length]).toEqual([0, true, 3]);
    live.follow();
    live.receive(token(3, 500_000), 5);
    expect([live.selected, live.view.tokens.length]).toEqual([null, 4]);
    live.select(1);
    live.receive(token(4, 600_000), 6);
    expect([live.selected, live.isLive, live.view.tokens.length]).toEqual([1, false, 2]);
    live.step(1);
    expect([live.selected, live.view.tokens.length]).toEqual([null, 3]);
  });
});
