/** The fill of the window. */
import { count, counted, percent } from "../../trace/format";
import { numKept } from "../../trace/view";
import { line, missing, type Line, type Narration } from "../own/reading-clock";

export const narrateContext: Narration = (view) => {
  const { context, cache, generation, tokens } = view;
  if (!context) return missing(view, "the window");
  const from = context.at - context.duration_us;
  const size = (kinds: string[]) =>
    context.segments.reduce((sum, { kind, start, end }) => sum + (kinds.includes(kind) ? end - start : 0), 0);
  const [history, asked] = [size(["history"]), size(["user"])];
  const lines: Line[] = [
    line(
      `Your message is ${counted(asked, "token")}; the whole prompt is ${counted(context.num_prompt_tokens, "token")}.`,
      from,
      context.at,
    ),
    line(
      history
        ? `${counted(history, "token")} of them are earlier turns of the same chat, sent again.`
        : "It was the first turn of its chat, so it sent nothing again.",
      from,
      context.at,
    ),
    line(
      `They fill ${percent(context.num_prompt_tokens / context.window)} of the window of ${count(context.window)}; ${count(context.reserved_output)} more are kept free for the answer.`,
      from,
      context.at,
    ),
    line(
      context.dropped.length
        ? `${counted(context.dropped.length, "old message")} no longer fitted and ${context.dropped.length === 1 ? "was" : "were"} left out.`
        : "Every message fitted.",
      from,
      context.at,
    ),
  ];
  if (cache)
    lines.push(
      line(
        `The cache still had ${counted(cache.num_cached_tokens, "token")}, so the model did not compute them again.`,
        context.at,
        Math.max(context.at, cache.at),
      ),
    );
  const last = tokens.at(-1);
  if (generation && last)
    lines.push(
      line(
        `The answer added ${counted(generation.usage.output, "token")}: the next turn sends at least ${count(context.num_prompt_tokens + numKept(view) + generation.usage.output)}.`,
        tokens[0]!.at,
        last.at,
      ),
    );
  return lines;
};
