/** The tokenizer's part in the request. */
import { pieceLabel, sharedText } from "../../trace/bytes";
import { count, counted, duration } from "../../trace/format";
import type { TraceView } from "../../trace/view";
import { line, missing, type Line, type Narration } from "../own/reading-clock";

export const narrateTokens: Narration = (view) => {
  const { accepted, prompt, context, tokens } = view;
  if (!prompt) return missing(view, "the tokenizer's work");
  const from = prompt.at - prompt.duration_us;
  const user = context?.segments.findLast(({ kind }) => kind === "user");
  const numText = prompt.ids.length - prompt.special.length;
  const lines = [
    line(
      `The tokenizer${accepted ? ` of ${accepted.model}` : ""} cut the prompt into ${counted(prompt.ids.length, "token")} in ${duration(prompt.duration_us)}.`,
      from,
      prompt.at,
    ),
  ];
  if (user) {
    const size = user.end - user.start;
    const perToken = ([...user.text].length / Math.max(1, size)).toFixed(1);
    lines.push(
      line(
        `Your message is ${counted(size, "token")} of them: ${perToken} characters to a token.`,
        from,
        prompt.at,
      ),
    );
  }
  lines.push(
    line(
      `${counted(prompt.special.length, "token")} are control tokens, which only the chat template can write; ${count(numText)} are text.`,
      from,
      prompt.at,
    ),
  );
  return [...lines, ...tellWritten(view, tokens)];
};

function tellWritten(view: TraceView, tokens: TraceView["tokens"]): Line[] {
  const [first, last] = [tokens[0], tokens.at(-1)];
  if (!first || !last) return [];
  const begun = line(
    `The first token written was number ${first.id}, “${pieceLabel(first.piece)}”.`,
    first.at - (first.step_us ?? 0),
    first.at,
  );
  const shared = sharedText(tokens.map(({ piece }) => piece));
  const index = shared.findIndex((text) => text !== null);
  const numParts = index < 0 ? 0 : shared.slice(index).findIndex((text) => text !== shared[index]);
  const parts =
    numParts < 2
      ? []
      : [
          line(
            `“${shared[index]}” took ${counted(numParts, "token")}. Their bytes are no character alone, such as ${pieceLabel(tokens[index]!.piece)}.`,
            tokens[index]!.at,
            tokens[index + numParts - 1]!.at,
          ),
        ];
  const all = line(
    `${counted(tokens.length, "token")} became ${counted([...view.text].length, "character")} of answer.`,
    first.at,
    last.at,
  );
  return [begun, ...parts, all];
}
