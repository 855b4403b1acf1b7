/** The safety layers' verdicts on the request. */
import type { SafetyChecked } from "../../protocol/events";
import { counted, duration } from "../../trace/format";
import { categoryWords, judged, worstScore } from "../../trace/words/safety-words";
import { verdictWords } from "../../trace/verdicts";
import { messageLength, messageOf } from "../../trace/context/reading";
import { line, missing, type Line, type Narration } from "../own/reading-clock";

export const narrateSafety: Narration = (view) => {
  const { inputCheck, outputChecks, prompt, releases, withheld } = view;
  if (!inputCheck && !outputChecks.length) return missing(view, "a safety check");
  const lines: Line[] = [];
  if (inputCheck) {
    const message = messageOf(view);
    const read =
      message === null
        ? `${messageLength(view, null)}, were read`
        : `Your message of ${counted([...message].length, "character")} was read`;
    const from = inputCheck.at - inputCheck.duration_us;
    lines.push(
      line(
        `${read} in ${duration(inputCheck.duration_us)} and ${verdictWords(inputCheck.verdict)}.`,
        from,
        inputCheck.at,
      ),
      line(highest("Its", inputCheck), from, inputCheck.at),
    );
  }
  // The check may end after the prompt is made: its findings stay in the picture.
  const checked = inputCheck?.at ?? 0;
  if (prompt)
    lines.push(
      line(
        `The template wrote ${counted(prompt.special.length, "control token")} around the texts; no text wrote any.`,
        Math.max(checked, prompt.at - prompt.duration_us),
        Math.max(checked, prompt.at),
      ),
    );
  const [first, last] = [outputChecks[0], outputChecks.at(-1)];
  if (first && last) {
    const worst = outputChecks.reduce((a, b) => (top(b).score > top(a).score ? b : a));
    const us = outputChecks.reduce((sum, { duration_us }) => sum + duration_us, 0);
    lines.push(
      line(
        `The answer was read in ${counted(outputChecks.length, "piece")}, which took ${duration(us)} in all.`,
        first.at,
        last.at,
      ),
      line(highest("Its", worst), worst.at - worst.buffered_us, worst.at),
      line(
        `Text was held for ${duration(Math.max(...outputChecks.map(({ buffered_us }) => buffered_us)))} at most before it left.`,
        first.at,
        last.at,
      ),
    );
  }
  if (withheld)
    lines.push(
      line(
        `${counted(withheld.num_tokens, "token")} were withheld for ${categoryWords(withheld.category)} and never left the worker.`,
        withheld.at,
        withheld.at,
      ),
    );
  else if (!releases.length) lines.push(line("The worker released no text.", 0, view.at));
  return lines;
};

const top = ({ scores }: SafetyChecked) => scores.reduce((a, b) => (b.score > a.score ? b : a));

function highest(whose: string, check: SafetyChecked): string {
  return `${whose} highest was ${judged(worstScore(check))}.`;
}
