import { expect, it } from "vitest";
import fc from "fast-check";
import type { AnyEvent } from "../../protocol/events";
import { laneOf, split } from "./byte-lane";
import { foldAll, token } from "../fixtures";
import { frameJson, savedFrame, sentFrame, sseText } from "../frames";

const base64 = (bytes: number[]) => btoa(String.fromCharCode(...bytes));
const released = (at: number, text: string, num_tokens: number): AnyEvent => ({
  type: "text.released",
  generation: 0,
  at,
  text,
  num_tokens,
});

it("holds the bytes of a character until it is whole, and every text until its release", () => {
  const cat = [...new TextEncoder().encode("😺")];
  const pieces = [
    base64([...new TextEncoder().encode("a"), ...cat.slice(0, 2)]),
    base64(cat.slice(2)),
    btoa("b"),
  ];
  const tokens = pieces.map((piece, index) => ({ ...token(index, 1000 * (index + 1)), piece }));
  const lane = laneOf(foldAll([...tokens.slice(0, 2), released(2500, "a😺", 2), tokens[2]!]));
  expect(lane.map(({ numBuffered }) => numBuffered)).toEqual([2, 0, 0]);
  expect(lane.map(({ text }) => text)).toEqual(["a", "😺", "b"]);
  expect(lane.map(({ release }) => release)).toEqual([0, 0, null]);
  expect(lane.map(({ bufferedUs, seq }) => [bufferedUs, seq])).toEqual([
    [1500, 3],
    [500, 3],
    [null, null],
  ]);
});

const strict = new TextDecoder("utf-8", { fatal: true });

it("splits any text at any byte so that nothing is lost and only the beginning of a character waits", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(), (text, at) => {
      const bytes = [...new TextEncoder().encode(text)];
      const cut = bytes.length ? at % (bytes.length + 1) : 0;
      const { whole, rest } = split(bytes.slice(0, cut));
      expect([...whole, ...rest]).toEqual(bytes.slice(0, cut));
      expect(rest.length).toBeLessThan(4);
      expect(() => strict.decode(Uint8Array.from(whole))).not.toThrow();
    }),
    { numRuns: 60 },
  );
});

it("shows a frame as it came on either carrier, and spells a saved one from its events", () => {
  const event = released(5, "é", 1);
  const json = JSON.stringify({ seq: 3, events: [event] });
  const text = `{"tag":7,${json.slice(1)}`;
  const frame = sentFrame({ seq: 3, events: [event] }, text, "websocket", true);
  expect(frame.numBytes).toBe(text.length + 1);
  expect(frameJson(frame, [])).toBe(json);
  const numbered = [1, 2, 3].map((seq) => ({ seq, at: 5, event }));
  const saved = savedFrame(3, 1);
  expect(frameJson(saved, numbered)).toBe(json);
  expect(sseText(saved, json)).toBe(`id: 3\nevent: frame\ndata: ${json}\n\n`);
});
