/** The memories and passages in the request's prompt. */
import type { Segment } from "../../protocol/events";
import { count, counted, duration, percent } from "../../trace/format";
import { atGeneration, type TraceView } from "../../trace/view";
import { line, type Line, type Narration } from "../own/reading-clock";

export const isRecalled = ({ kind }: Segment): boolean => kind === "memory" || kind === "attachment";

export const narrateRecall: Narration = (view) => [
  ...recalledLines(view),
  ...fileLines(view),
  ...sizeLines(view),
];

function recalledLines({ recalled, at }: TraceView): Line[] {
  if (!recalled) return [line("No memory was searched for this request.", 0, at)];
  const { items, num_considered, threshold, duration_us } = recalled;
  const best = items.reduce((most, { similarity }) => Math.max(most, similarity), -1);
  return [
    line(
      `Your message was compared with ${counted(num_considered, "memory", "memories")} in ${duration(duration_us)}.`,
      0,
      recalled.at,
    ),
    line(
      items.length
        ? `${counted(items.length, "memory", "memories")} joined the prompt, the nearest with a similarity of ${best.toFixed(2)}.`
        : `None had a similarity of ${threshold.toFixed(2)} or more, so none joined the prompt.`,
      0,
      recalled.at,
    ),
  ];
}

function fileLines({ attached, at }: TraceView): Line[] {
  if (!attached) return [line("It carried no file.", 0, at)];
  const { files, num_tokens, budget } = attached;
  const chosen = files.reduce((sum, { passages }) => sum + passages.length, 0);
  const whole = files.filter(({ is_whole }) => is_whole).length;
  return [
    line(
      `Of ${counted(files.length, "file")}, ${count(whole)} went in whole, and of the rest ${counted(chosen, "passage")}.`,
      0,
      attached.at,
    ),
    line(`They have ${counted(num_tokens, "token")}; files may have ${count(budget)}.`, 0, attached.at),
  ];
}

function sizeLines(view: TraceView): Line[] {
  const { context } = atGeneration(view, 0);
  if (!context) return [];
  const size = context.segments.filter(isRecalled).reduce((sum, { start, end }) => sum + end - start, 0);
  const share = context.num_prompt_tokens ? size / context.num_prompt_tokens : 0;
  return [
    line(
      `Memories and files are ${percent(share)} of the prompt’s ${counted(context.num_prompt_tokens, "token")}.`,
      context.at - context.duration_us,
      context.at,
    ),
  ];
}
