/** The guesses in the request's answer. */
import { count, counted } from "../../trace/format";
import { nameOf } from "../../trace/token-name";
import { line, missing, type Narration } from "../own/reading-clock";

export const narrateGuesses: Narration = (view) => {
  const { tokens, drafts } = view;
  const [first, last] = [tokens[0], tokens.at(-1)];
  if (!first || !last) return missing(view, "an answer");
  const guesses = [...drafts.guesses.values()].flat();
  if (!guesses.length)
    return [
      line(
        `The engine did not guess: each of the ${counted(tokens.length, "token")} took a step of its own.`,
        first.at,
        last.at,
      ),
      line(
        "The text did not repeat itself, or guesses did not save time on this machine.",
        first.at,
        last.at,
      ),
    ];
  const passes = new Set(drafts.passes.values());
  const numSpared = [...passes].reduce((sum, { size }) => sum + size - 1, 0);
  const accepted = guesses.filter(({ outcome }) => outcome === "accepted").length;
  const best = [...passes].reduce((one, other) => (other.size > one.size ? other : one));
  const run = tokens.slice(best.first, best.first + best.size);
  const lines = [
    line(
      `${counted(guesses.length, "guess", "guesses")} were checked in ${counted(passes.size, "step")}.`,
      first.at,
      last.at,
    ),
    line(
      `The model drew ${count(accepted)} of them too, which saved ${counted(numSpared, "step")}.`,
      first.at,
      last.at,
    ),
  ];
  if (best.size > 1 && run.length)
    lines.push(
      line(
        `One step gave ${counted(run.length, "token")} at once: “${run.map(nameOf).join("")}”.`,
        run[0]!.at,
        run.at(-1)!.at,
      ),
    );
  return lines;
};
