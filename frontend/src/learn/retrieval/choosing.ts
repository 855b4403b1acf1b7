/** The choice of memories for a prompt, and two sets of texts of our own writing. Pure. */
import type { RankedNote } from "../../protocol/api";

export const MOST_NOTES = 10;
export const MOST_CHARS = 300;

/** The memories of a text, one on a line. */
export const notesIn = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

/** Number of chosen memories: the nearest ones from the threshold on, `most` of them at most. */
export function numChosen(ranked: readonly RankedNote[], threshold: number, most: number): number {
  return Math.min(most, ranked.filter(({ similarity }) => similarity >= threshold).length);
}

/** The reason why these memories cannot be asked about; empty: they can. */
export function problemOf(question: string, notes: readonly string[]): string {
  if (!question.trim()) return "Write a question.";
  if (!notes.length) return "Write at least one memory.";
  if (notes.length > MOST_NOTES)
    return `There are ${notes.length} memories; this page compares ${MOST_NOTES}.`;
  const long = notes.findIndex((note) => note.length > MOST_CHARS);
  return long < 0 ? "" : `Memory ${long + 1} has more than ${MOST_CHARS} characters.`;
}

export const SETS = [
  {
    name: "Memories about a person",
    question: "What should I cook for dinner?",
    notes: [
      "I do not eat meat or fish.",
      "I like tea more than coffee.",
      "My kitchen has no oven, only two hot plates.",
      "My sister plays the violin.",
      "I learn Spanish on Mondays.",
      "Answer me in short sentences.",
    ],
  },
  {
    name: "Passages of a manual",
    question: "The pump makes a loud noise. Why?",
    notes: [
      "Mount the pump on a level floor and fasten all four screws.",
      "A rattling sound means that air is in the pipe. Open the valve until water comes.",
      "The guarantee ends after two years or 4,000 hours.",
      "Noise at high speed comes from a worn bearing, which a workshop must replace.",
      "Clean the filter every month with cold water.",
      "Pull the plug before you open the housing.",
    ],
  },
] as const;
