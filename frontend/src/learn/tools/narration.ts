/** The rounds of the request: the calls of tools, and what each cost. */
import { count, counted, duration, percent } from "../../trace/format";
import { isOver, madeCalls, type TraceView } from "../../trace/view";
import { line, missing, type Line, type Narration } from "../own/reading-clock";
import { definitionOf, idsIn, callsIn, maskedIn, resumptionOf } from "./rounds";

export const narrateTools: Narration = (view) => {
  const [first] = view.generations;
  if (!first!.prompt) return missing(view, "a prompt");
  return [...definitionLines(view), ...view.generations.flatMap((_, index) => roundLines(view, index))];
};

function definitionLines(view: TraceView): Line[] {
  const { prompt } = view.generations[0]!;
  const found = definitionOf(view);
  const lines = [
    line(
      found
        ? `${counted(found.numTokens, "token")} of its prompt defined tools.`
        : "Its prompt defined no tool.",
      0,
      Math.max(0, prompt!.at),
    ),
  ];
  if (!madeCalls(view).length)
    lines.push(
      line(
        isOver(view)
          ? "The model called none: it was asked once, and answered."
          : "The model has called none so far.",
        0,
        view.at,
      ),
    );
  return lines;
}

/** The calls of one round, and the step to the next. */
function roundLines(view: TraceView, index: number): Line[] {
  const [own, next] = [view.generations[index]!, view.generations[index + 1]];
  const calls = callsIn(view, own, idsIn(own));
  if (!calls.length) return [];
  const { numForced, num } = maskedIn(own);
  const [begin, end] = [own.tokens[0]?.at ?? 0, own.tokens.at(-1)?.at ?? 0];
  const done = calls.flatMap(({ result }) => (result ? [result] : []));
  const lines = [
    line(
      `Round ${index + 1} wrote ${counted(calls.length, "call")} in ${counted(own.tokens.length, "token")}; the grammar left one choice at ${count(numForced)} of ${counted(num, "place")}.`,
      begin,
      end,
    ),
  ];
  if (done.length)
    lines.push(
      line(
        `The tool${done.length > 1 ? "s" : ""} took ${duration(done.reduce((sum, { duration_us }) => sum + duration_us, 0))}.`,
        end,
        done.at(-1)!.at,
      ),
    );
  const resumption = resumptionOf(own, next);
  if (resumption && resumption.numCached !== null)
    lines.push(
      line(
        `The next prompt had ${counted(resumption.numPrompt, "token")}. The cache gave ${percent(Math.min(1, resumption.numCached / resumption.numKnown))} of what was known.`,
        next!.prompt!.at,
        Math.max(next!.prompt!.at, next!.cache!.at),
      ),
    );
  return lines;
}
