// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { PARAMS } from "../trace/fixtures";
import { FakeSocket } from "../transport/fake-socket";
import { Socket } from "../transport/socket";
import { paramsOf } from "./lanes";
import { Race } from "./race.svelte";

/** The server answers when the test says so. */
let answer: (body: object) => void;
let race: Race;

beforeEach(() => {
  FakeSocket.all = [];
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal(
    "fetch",
    () =>
      new Promise<Response>((resolve) => (answer = (body) => resolve(new Response(JSON.stringify(body))))),
  );
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
const params = paramsOf(
  PARAMS,
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
  const starting = race.start("Sea", "Be brief.", params);
  await reply({ id: "c" });
  await reply(SENT);
  await starting;
  expect(race.lanes.map(({ requestId }) => requestId)).toEqual(["req_a", "req_b"]);
  expect(race.settings).toEqual(params);
});

it("opens no trace once its page was left", async () => {
  const starting = race.start("Sea", "Be brief.", params);
  await reply({ id: "c" });
  race.close();
  await reply(SENT);
  await starting;
  expect(race.lanes).toEqual([]);
  expect(FakeSocket.last.sent.filter(({ type }) => type === "follow")).toEqual([]);
});
