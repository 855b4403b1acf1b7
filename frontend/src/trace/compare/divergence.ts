/** The place at which two answers part, and both choices' chances in each side's distribution there. */
import type { TokenSampled } from "../../protocol/events";
import { commonStart } from "./diff";
import { comparable } from "./vocabulary";
import { finalProbabilities, isGreedy } from "../sampling/probability";
import type { TraceView } from "../view";

/** One token's chance in one distribution. */
export interface Chance {
  /** Under the model's own distribution; null: not among the recorded candidates. */
  model: number | null;
  /** In the distribution that was drawn from; 0: a stage removed it. Null: not recorded. */
  drawn: number | null;
}

/** id: of this place's own tokenizer. */
export function chanceOf({ token, view }: Place, id: number): Chance {
  const index = token.candidate_ids.indexOf(id);
  if (index < 0) return { model: null, drawn: null };
  const model = Math.exp(token.candidate_logits[index]! - (token.log_normalizer ?? 0));
  const final = view.accepted && finalProbabilities(token, view.accepted.params);
  return { model, drawn: final ? (final[index] ?? 0) : null };
}

/** A generated token and the trace it is in. */
export interface Place {
  token: TokenSampled;
  view: TraceView;
}

/** A token of an answer; a fork has some that it took over from another one. */
export interface AnswerToken {
  id: number;
  /** base64 */
  piece: string;
  isSpecial: boolean;
  /** Null: taken over, and not sampled here. */
  sampled: TokenSampled | null;
}

export function answerTokens({ forked, tokens }: TraceView): AnswerToken[] {
  const kept = (forked?.ids ?? []).map((id, index) => ({
    id,
    piece: forked!.pieces[index]!,
    isSpecial: false,
    sampled: null,
  }));
  return [
    ...kept,
    ...tokens.map((token) => ({
      id: token.id,
      piece: token.piece,
      isSpecial: token.is_special,
      sampled: token,
    })),
  ];
}

export interface Divergence {
  /** Index of the first token that differs. */
  index: number;
  /** Null: that answer has ended before it. */
  a: AnswerToken | null;
  b: AnswerToken | null;
}

/** Null: all tokens are equal. While one is still being written its end is no difference. */
export function divergence(a: TraceView, b: TraceView, areOver = true): Divergence | null {
  const [inA, inB] = [answerTokens(a), answerTokens(b)];
  const [left, right] = answersAlike([a, b]) as [readonly number[], readonly number[]];
  const index = commonStart(left, right);
  const found = { index, a: inA[index] ?? null, b: inB[index] ?? null };
  if (!found.a && !found.b) return null;
  return !areOver && (!found.a || !found.b) ? null : found;
}

/** The whole answers, in numbers that can be compared. */
export function answersAlike(views: TraceView[]): (readonly number[])[] {
  const answers = views.map((view) => ({
    ids: idsOf(view),
    pieces: [...(view.forked?.pieces ?? []), ...view.tokens.map(({ piece }) => piece)],
  }));
  return comparable(views, answers);
}

/** Ids of the whole answer. */
export function idsOf({ forked, tokens }: TraceView): number[] {
  return [...(forked?.ids ?? []), ...tokens.map(({ id }) => id)];
}

/** The draw that took a token, for people. */
export function drawText(token: TokenSampled): string {
  if (isGreedy(token)) return "the most likely, without a draw";
  return token.u === null ? "the draw is not reported" : `drawn at ${token.u.toFixed(4)} between 0 and 1`;
}
