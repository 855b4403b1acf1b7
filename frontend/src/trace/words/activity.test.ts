import { expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { ACCEPTED, foldAll, token } from "../fixtures";
import { activity } from "./activity";

const INTERRUPTED = {
  type: "generation.interrupted",
  generation: 0,
  at: 500_000,
  attempt: 1,
  cause: "lost",
  silent_us: 400_000,
} as unknown as AnyEvent;

const said = (events: AnyEvent[], isSilent = false) => activity(foldAll(events), false, isSilent);

it("tells writing, silence and a worker that ended apart, until the next token", () => {
  const events = [ACCEPTED, token(0, 100_000)];
  expect(said([ACCEPTED])).toBe("The server is preparing the request.");
  expect(said(events)).toBe("The model is writing.");
  expect(said(events, true)).toBe("No token comes at the moment.");
  expect(said([...events, INTERRUPTED])).toBe("The worker ended; another goes on.");
  expect(said([...events, INTERRUPTED], true)).toBe("The worker ended; another goes on.");
  expect(said([...events, INTERRUPTED, token(1, 900_000)])).toBe("The model is writing.");
});
