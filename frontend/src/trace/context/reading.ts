/** What the model reads before it writes: the prompt, and of a fork the tokens of the answer that it goes on from. */
import type { GenerationForked } from "../../protocol/events";
import { REDACTED_TEXT } from "../bytes";
import { counted } from "../format";
import type { TraceView } from "../view";

export interface Reading {
  ids: number[];
  pieces: string[];
  special: number[];
  /** Those from here on are the fork's. */
  numPrompt: number;
}

export function readingOf({ prompt, forked }: TraceView): Reading | null {
  if (!prompt) return null;
  const { ids, pieces, special } = prompt;
  if (!forked) return { ids, pieces, special, numPrompt: ids.length };
  return {
    ids: [...ids, ...forked.ids],
    pieces: [...pieces, ...forked.pieces],
    special,
    numPrompt: ids.length,
  };
}

/** The message's own text; null: the log does not have it, as of one that was blocked or redacted. */
export function messageOf({ context }: TraceView): string | null {
  const text = context?.segments.findLast(({ kind }) => kind === "user")?.text ?? null;
  return text === REDACTED_TEXT ? null : text;
}

/** How long it is: the check at the gate reads the system prompt and the message as one text. */
export function messageLength(view: TraceView, message: string | null): string {
  if (message !== null) return `The message, ${counted([...message].length, "character")}`;
  if (!view.inputCheck) return "The message";
  const { start, end } = view.inputCheck;
  return `System prompt and message, ${counted(end - start, "character")} together`;
}

/** What a fork begins with: of another answer so many tokens, and those that stand in the place of its next. */
export function keptWords({ ids, position }: GenerationForked): string {
  const numChosen = ids.length - position;
  const kept = `${counted(position, "token")} kept from another answer`;
  if (!numChosen) return kept;
  const chosen = `${position ? numChosen : counted(numChosen, "token")} chosen or written by a person`;
  return position ? `${kept} and ${chosen}` : chosen;
}
