/** Numbers of tokens that the request's steps computed, and would have computed without a cache. */
import { count, counted, duration } from "../../trace/format";
import { numRead, type TraceView } from "../../trace/view";
import { line, missing, type Narration } from "../own/reading-clock";
import { countsOf } from "./counts";

export const narrateLoop: Narration = (view) => {
  const { prompt, prefill, tokens } = view;
  const [first, last] = [tokens[0], tokens.at(-1)];
  if (!prompt || !first || !last) return missing(view, "an answer");
  const num = numRead(view);
  const read = view.forked
    ? `The prompt and the answer it continues, ${counted(num, "token")}, were`
    : `The prompt’s ${counted(num, "token")} were`;
  const lines = [];
  if (prefill.length)
    lines.push(
      line(
        `${read} read once: ${count(numComputed(view))} computed, the others found in the cache.`,
        prompt.at,
        Math.max(prompt.at, prefill.at(-1)!.at),
      ),
    );
  const steps = stepsOf(view);
  const plain = steps.filter(({ num }) => num === 1);
  lines.push(
    line(
      `The answer’s ${counted(tokens.length, "token")} took ${counted(steps.length, "step")}; ${count(plain.length)} of them computed one token.`,
      first.at,
      last.at,
    ),
  );
  const time = plain.flatMap(({ step_us }) => (step_us === null ? [] : [step_us]));
  if (time.length)
    lines.push(
      line(
        `Such a step took ${duration(time.reduce((sum, us) => sum + us, 0) / time.length)} on average.`,
        first.at,
        last.at,
      ),
    );
  lines.push(
    line(
      `With no cache at all the answer would have computed ${counted(countsOf(num, tokens.length).uncached, "token")}: the whole text at every step.`,
      first.at,
      last.at,
    ),
  );
  return lines;
};

/** Number of computed tokens of the text before the answer. */
function numComputed({ prefill, tokens }: TraceView): number {
  const own = prefill.filter(({ at }) => !tokens[0] || at <= tokens[0].at);
  return own.reduce((sum, { start, end }) => sum + end - start, 0);
}

/** The steps after the prompt, with the number of tokens that each computed, its guesses included. */
export function stepsOf({ tokens, drafts }: TraceView): { num: number; step_us: number | null }[] {
  return tokens.flatMap(({ position, step_us }) => {
    const pass = drafts.passes.get(position);
    if (pass && pass.first !== position) return [];
    return [{ num: 1 + (pass?.numGuesses ?? 0), step_us }];
  });
}
