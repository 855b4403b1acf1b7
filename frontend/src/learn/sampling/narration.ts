/** The request's draws. */
import { quotedName } from "../../trace/token-name";
import { bits, count, counted, percent } from "../../trace/format";
import { isGreedy } from "../../trace/sampling/probability";
import { line, missing, type Narration } from "../own/reading-clock";

export const narrateDraws: Narration = (view) => {
  const { tokens, accepted } = view;
  const params = accepted?.params;
  if (!tokens[0] || !params) return missing(view, "a draw");
  const known = tokens.filter(({ logprob }) => logprob !== null);
  const first = tokens[0];
  const lines = [
    line(
      `Your settings: temperature ${params.temperature}, top-p ${params.top_p}, top-k ${params.top_k || "off"}, min-p ${params.min_p || "off"}.`,
      0,
      first.at,
    ),
  ];
  if (!known.length) return [...lines, line("This server reports no probabilities.", first.at, view.at)];
  const label = (token: (typeof tokens)[number]) => quotedName(token);
  const at = (token: (typeof tokens)[number]) => [tokens[token.position - 1]?.at ?? 0, token.at] as const;
  const sure = known.reduce((a, b) => (b.logprob! > a.logprob! ? b : a));
  const odd = known.reduce((a, b) => (b.logprob! < a.logprob! ? b : a));
  const open = known.reduce((a, b) => ((b.entropy ?? 0) > (a.entropy ?? 0) ? b : a));
  lines.push(
    line(
      isGreedy(first)
        ? `The first token, ${label(first)}, was the likeliest: there was no draw.`
        : `The first draw, ${first.u?.toFixed(3) ?? "not reported"} between 0 and 1, fell on ${label(first)}, to which the model gave ${percent(Math.exp(first.logprob!))}.`,
      0,
      first.at,
    ),
    line(
      `The model was surest at token ${sure.position + 1}, ${label(sure)}: ${percent(Math.exp(sure.logprob!))}.`,
      ...at(sure),
    ),
    line(
      `The model was most undecided at token ${open.position + 1}: an entropy of ${open.entropy === null ? "unknown size" : bits(open.entropy)}, as of ${Math.round(Math.exp(open.entropy ?? 0))} equally likely tokens.`,
      ...at(open),
    ),
    line(
      `The least likely token that was drawn is number ${odd.position + 1}, ${label(odd)}: ${percent(Math.exp(odd.logprob!))}, rank ${odd.rank ?? "not reported"}.`,
      ...at(odd),
    ),
    line(
      `${count(known.filter(({ rank }) => rank === 1).length)} of ${counted(known.length, "token")} were the model’s first choice.`,
      first.at,
      tokens.at(-1)!.at,
    ),
  );
  return lines;
};
