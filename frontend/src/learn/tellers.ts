/**
 * What each exhibit says of a request: short sentences of that request's own numbers, each with the stretch of the trace
 * that it tells of. What was not recorded is said to be so.
 */
import { isGreedy } from "../trace/probability";
import { pieceLabel, sharedText } from "../trace/bytes";
import { count, counted, duration, percent } from "../trace/format";
import type { TraceView } from "../trace/view";
import type { Line } from "./walk";

export type Teller = (view: TraceView) => Line[];

const line = (text: string, start: number, end: number): Line => ({ text, start, end: Math.max(start, end) });

/** A stage that the request never reached, at its end. */
const missing = (view: TraceView, what: string): Line[] => [
  line(`${what} is not recorded of this request.`, 0, view.at),
];

export const tellTokens: Teller = (view) => {
  const { prompt, context, tokens } = view;
  if (!prompt) return missing(view, "What the tokenizer did");
  const from = prompt.at - prompt.duration_us;
  const user = context?.segments.findLast(({ kind }) => kind === "user");
  const numText = prompt.ids.length - prompt.special.length;
  const lines = [
    line(
      `${prompt.tokenizer} cut the prompt into ${counted(prompt.ids.length, "token")} in ${duration(prompt.duration_us)}.`,
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
            `“${shared[index]}” took ${counted(numParts, "token")}: bytes that are no character alone, such as ${pieceLabel(tokens[index]!.piece)}.`,
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

export const tellDraws: Teller = (view) => {
  const { tokens, accepted } = view;
  const params = accepted?.params;
  if (!tokens[0] || !params) return missing(view, "A draw");
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
  const label = (token: (typeof tokens)[number]) =>
    token.is_special ? "the end of turn" : `“${pieceLabel(token.piece)}”`;
  const at = (token: (typeof tokens)[number]) => [tokens[token.position - 1]?.at ?? 0, token.at] as const;
  const sure = known.reduce((a, b) => (b.logprob! > a.logprob! ? b : a));
  const odd = known.reduce((a, b) => (b.logprob! < a.logprob! ? b : a));
  const open = known.reduce((a, b) => ((b.entropy ?? 0) > (a.entropy ?? 0) ? b : a));
  lines.push(
    line(
      isGreedy(first)
        ? `The first token, ${label(first)}, was simply the likeliest: no draw was made.`
        : `The first draw, u = ${first.u?.toFixed(3) ?? "not reported"}, fell on ${label(first)}, to which the model gave ${percent(Math.exp(first.logprob!))}.`,
      0,
      first.at,
    ),
    line(
      `It was surest at token ${sure.position + 1}, ${label(sure)}: ${percent(Math.exp(sure.logprob!))}.`,
      ...at(sure),
    ),
    line(
      `It was most undecided at token ${open.position + 1}: an entropy of ${open.entropy?.toFixed(2) ?? "?"} nats, as of ${Math.round(Math.exp(open.entropy ?? 0))} equally likely tokens.`,
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
