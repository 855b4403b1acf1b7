/** The amount of text that attention could look back at. */
import { count, counted } from "../../trace/format";
import { line, missing, type Narration } from "../own/reading-clock";

export const narrateLooks: Narration = (view) => {
  const { prompt, tokens, at } = view;
  if (!prompt) return missing(view, "the prompt");
  const size = prompt.ids.length;
  const lines = [
    line(
      `The prompt has ${counted(size, "token")}. Each token looks at itself and at the tokens before it, never ahead.`,
      0,
      prompt.at,
    ),
    line(
      `In one layer, that makes ${count((size * (size + 1)) / 2)} looks for each head.`,
      prompt.at,
      prompt.at,
    ),
  ];
  const [first, last] = [tokens[0], tokens.at(-1)];
  if (!first || !last) return lines;
  lines.push(
    line(
      `The answer’s first token was drawn after looking at ${counted(size, "token")}.`,
      prompt.at,
      first.at,
    ),
    line(
      `Its last one was drawn after looking at ${counted(size + tokens.length - 1, "token")}: a longer text makes each token cost more.`,
      first.at,
      Math.min(last.at, at),
    ),
  );
  return lines;
};
