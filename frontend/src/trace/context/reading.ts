/** The tokens that the model reads before it writes: the prompt, and a fork's tokens of the earlier answer. */
import type { GenerationForked } from "../../protocol/events";
import { REDACTED_TEXT } from "../bytes";
import { counted } from "../format";
import type { TraceView } from "../view";

export interface Reading {
  ids: number[];
  pieces: string[];
  special: number[];
  /** Tokens from this index on are the fork's. */
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

/** The message's own text; null: the log does not have it, as after a block or a redaction. */
export function messageOf({ context }: TraceView): string | null {
  const text = context?.segments.findLast(({ kind }) => kind === "user")?.text ?? null;
  return text === REDACTED_TEXT ? null : text;
}

/** The message's length: the check at the gateway reads the system prompt and the message as one text. */
export function messageLength(view: TraceView, message: string | null): string {
  if (message !== null) return `The message, ${counted([...message].length, "character")}`;
  if (!view.inputCheck) return "The message";
  const { start, end } = view.inputCheck;
  return `System prompt and message, ${counted(end - start, "character")} together`;
}

/** A fork's beginning: a number of tokens from another answer, and those in place of its next. */
export function keptWords({ ids, position }: GenerationForked): string {
  const numChosen = ids.length - position;
  const kept = `${counted(position, "token")} kept from another answer`;
  if (!numChosen) return kept;
  const chosen = `${position ? numChosen : counted(numChosen, "token")} that a person chose or wrote`;
  return position ? `${kept} and ${chosen}` : chosen;
}
