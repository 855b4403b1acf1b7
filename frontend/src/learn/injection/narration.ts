/** The checks of the texts in a request that its user did not write, beside that of the message. */
import type { SafetyChecked } from "../../protocol/events";
import { counted } from "../../trace/format";
import { gravest, verdictWords } from "../../trace/verdicts";
import type { TraceView } from "../../trace/view";
import { disguiseWords, judged, worstOf } from "../../trace/words/safety-words";
import { line, type Line, type Narration } from "../own/reading-clock";

export interface Layer {
  name: string;
  checks: SafetyChecked[];
}

/** The texts of a request by their origin, in the order in which the checks read them. */
export function layersOf({ inputCheck, memoryChecks, fileChecks, generations }: TraceView): Layer[] {
  const later = generations.flatMap(({ outputChecks }) => outputChecks);
  const of = (layer: SafetyChecked["layer"]) => later.filter((check) => check.layer === layer);
  return [
    { name: "message", checks: inputCheck ? [inputCheck] : [] },
    { name: "memories", checks: memoryChecks },
    { name: "files", checks: fileChecks },
    { name: "results of tools", checks: of("tool_result") },
    { name: "answer", checks: of("output") },
  ];
}

export const narrateInjection: Narration = (view) => {
  const layers = layersOf(view);
  const outside = layers.slice(1, 4).filter(({ checks }) => checks.length);
  const lines = layers.flatMap((layer) => (layer.checks.length ? told(view, layer) : []));
  if (!outside.length)
    lines.unshift(
      line("No text from outside was in it: no memory, no file and no result of a tool.", 0, view.at),
    );
  const tricks = layers.flatMap(({ checks }) => checks.flatMap(({ disguises }) => disguises));
  lines.push(
    line(
      tricks.length
        ? `Undone before the checks: ${tricks.map(disguiseWords).join(", ")}.`
        : "No check found a disguised character.",
      0,
      view.at,
    ),
  );
  return lines;
};

function told(view: TraceView, { name, checks }: Layer): Line[] {
  const verdict = verdictWords(gravest(checks.map(({ verdict }) => verdict)));
  const first = Math.max(0, checks[0]!.at - checks[0]!.duration_us);
  return [
    line(
      `${capital(name)}, in ${counted(checks.length, "check")}: ${verdict}. The highest was ${judged(worstOf(checks))}.`,
      Math.min(first, view.at),
      Math.min(checks.at(-1)!.at, view.at),
    ),
  ];
}

const capital = (text: string) => text[0]!.toUpperCase() + text.slice(1);
