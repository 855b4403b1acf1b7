// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { PARAMS } from "../../trace/fixtures";
import { FakeSocket } from "../../transport/fake-socket";
import { Socket } from "../../transport/socket";
import { entriesOf } from "./lanes";
import { Race } from "./race.svelte";

/** The server answers when the test says so. */
let answer: (body: object) => void;
let race: Race;
let asked: { path: string; body: Record<string, unknown> }[];

beforeEach(() => {
  FakeSocket.all = [];
  asked = [];
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("fetch", (path: string, { body: sent }: { body: string }) => {
    asked.push({ path, body: JSON.parse(sent) as Record<string, unknown> });
    return new Promise<Response>(
      (resolve) => (answer = (body) => resolve(new Response(JSON.stringify(body)))),
    );
  });
  const socket = new Socket();
  socket.open();
  FakeSocket.last.accept();
  race = new Race(socket);
});
afterEach(() => {
  race.close();
  vi.unstubAllGlobals();
});

const SENT = {
  user_message: { id: "q" },
  assistant_message: { request_id: "req_a" },
  siblings: [{ request_id: "req_b" }],
};
const SMALL = { id: "small", default_params: PARAMS };
const BIG = { id: "big", default_params: PARAMS };
const entries = entriesOf(
  { params: null },
  [SMALL, SMALL],
  [
    { temperature: 0, top_p: 1, min_p: 0 },
    { temperature: 1, top_p: 0.5, min_p: 0 },
  ],
  7,
);

async function reply(body: object): Promise<void> {
  answer(body);
  await new Promise((resolve) => setTimeout(resolve));
}

it("keeps the settings that were sent, which those of the next race do not change", async () => {
  const starting = race.start("Sea", "Be brief.", entries);
  await reply({ id: "c" });
  await reply(SENT);
  await starting;
  expect(race.lanes.map(({ requestId }) => requestId)).toEqual(["req_a", "req_b"]);
  expect(race.entries).toEqual(entries);
});

it("has two models answer the same message, each with its own settings", async () => {
  const [first, second] = entriesOf(
    { params: null },
    [SMALL, BIG],
    entries.map(({ params }) => params),
    7,
  );
  const starting = race.start("Sea", "Be brief.", [first!, second!]);
  await reply({ id: "c" });
  await reply({ ...SENT, assistant_message: { id: "a", request_id: "req_a" }, siblings: [] });
  expect(race.isRunning).toBe(true);
  await reply({ id: "c" });
  await reply({ assistant_message: { request_id: "req_b" }, siblings: [] });
  await starting;
  expect(race.lanes.map(({ requestId }) => requestId)).toEqual(["req_a", "req_b"]);
  expect(asked.map(({ path, body }) => [path, body])).toMatchObject([
    ["/api/conversations", { model: "small" }],
    ["/api/conversations/c/messages", { params_each: [first!.params] }],
    ["/api/conversations/c", { model: "big" }],
    ["/api/messages/a/regenerate", { params: second!.params, n: 1 }],
  ]);
});

it("opens no trace once its page was left", async () => {
  const starting = race.start("Sea", "Be brief.", entries);
  await reply({ id: "c" });
  race.close();
  await reply(SENT);
  await starting;
  expect(race.lanes).toEqual([]);
  expect(FakeSocket.last.sent.filter(({ type }) => type === "follow")).toEqual([]);
});
