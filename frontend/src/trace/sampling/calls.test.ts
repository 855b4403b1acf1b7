import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AnyEvent, TokenSampled } from "../../protocol/events";
import { pieceLabel } from "../bytes";
import { closestCall } from "./calls";
import { ACCEPTED, foldAll, token } from "../fixtures";
import { fold } from "../fold";
import { finalProbabilities } from "./probability";
import { emptyView, type TraceView } from "../view";

const LOGS = new URL("../../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;

function golden(file: string): TraceView {
  const { frames } = JSON.parse(readFileSync(LOGS + file, "utf8")) as {
    frames: { seq: number; events: AnyEvent[] }[];
  };
  let view = emptyView();
  for (const { seq, events } of frames)
    events.forEach((event, index) => (view = fold(view, event, seq + index)));
  return view;
}

/** The chance of the second candidate beside the first's at the draw, between beginnings of words; null: no such two. */
function closeness(view: TraceView, each: TokenSampled): number | null {
  const final = finalProbabilities(each, view.accepted!.params) ?? [];
  const left = final.flatMap((chance, index) => (chance ? [{ chance, index }] : []));
  const [first, second] = left.sort((a, b) => b.chance - a.chance);
  const isWord = (at: typeof first) => /^·[\p{L}\p{N}]/u.test(pieceLabel(each.candidate_pieces[at!.index]!));
  return first && second && isWord(first) && isWord(second) ? second.chance / first.chance : null;
}

describe.each(readdirSync(LOGS))("%s", (file) => {
  it("has no closer call between two words than the one that is told", () => {
    const view = golden(file);
    const all = view.tokens
      .filter(({ is_special }) => !is_special)
      .flatMap((each) => closeness(view, each) ?? []);
    const call = closestCall(view);
    if (all.length) expect(call!.second.chance / call!.first.chance).toBeCloseTo(Math.max(...all), 9);
    else expect(call?.isAfterSettings && call.first.name.startsWith("·")).toBeFalsy();
  });
});

it("tells the chances at the draw, and words without the marks of their spaces", () => {
  const sampled = {
    ...token(0, 100_000),
    candidate_pieces: [" cat", " dog", " cow"].map((piece) => btoa(piece)),
  };
  const call = closestCall(foldAll([ACCEPTED, sampled]))!;
  expect([call.first.name, call.second.name, call.isAfterSettings]).toEqual(["cat", "dog", true]);
  expect(call.first.chance + call.second.chance).toBeCloseTo(1, 9);
});

it("keeps the marks where only they tell two candidates apart", () => {
  const sampled = {
    ...token(0, 100_000),
    candidate_pieces: [" cat", "cat", "c"].map((piece) => btoa(piece)),
  };
  const call = closestCall(foldAll([ACCEPTED, sampled]))!;
  expect([call.first.name, call.second.name]).toEqual(["·cat", "cat"]);
});

it("is the model's own where the settings left one candidate", () => {
  const processors = token(0, 0).processors!.map((each) => ({ ...each, num_candidates: 1 }));
  const call = closestCall(foldAll([ACCEPTED, { ...token(0, 100_000), processors }]))!;
  expect(call.isAfterSettings).toBe(false);
});

it("is found anew once more tokens are known", () => {
  const events = [0, 1].map((position) => ({
    ...token(position, 100_000),
    candidate_pieces: [" cat", " dog"].map((piece) => btoa(piece)),
  }));
  const closer = { ...events[1]!, candidate_logits: [2, 1.9, 0] };
  const view = foldAll([ACCEPTED, events[0]!]);
  expect(closestCall(view)!.position).toBe(0);
  expect(closestCall(fold(view, closer, 3))!.position).toBe(1);
});
