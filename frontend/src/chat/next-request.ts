/** The content of the next request, in words and shares. Pure: knows nothing of the server or the screen. */
import { count, counted, money, roughly } from "../trace/format";
import type { Preview } from "../protocol/api";

export interface Part {
  kind: string;
  label: string;
  /** Segments of one kind that stand apart count as one part of the table. */
  numSegments: number;
  numTokens: number;
  /** Null: not known. */
  numCached: number | null;
}

/** A piece of the bar: a segment, or its cached part. Shares of the whole prompt. */
export interface Slice {
  kind: string;
  start: number;
  share: number;
  isCached: boolean;
}

const LABELS: Record<string, string> = {
  system: "System prompt",
  tools: "Tools",
  memory: "Memory",
  summary: "Summary",
  history: "Earlier messages",
  attachment: "Attachments",
  image: "Pictures",
  result: "Results of tools",
  user: "Your message",
  template: "Chat template",
};

export function partsOf({ segments, num_cached_tokens: cached }: Preview): Part[] {
  const parts = new Map<string, Part>();
  for (const { kind, start, end } of segments) {
    const part = parts.get(kind) ?? { kind, label: LABELS[kind] ?? kind, ...NOTHING(cached) };
    part.numSegments += 1;
    part.numTokens += end - start;
    if (part.numCached !== null) part.numCached += Math.max(0, Math.min(end, cached!) - start);
    parts.set(kind, part);
  }
  return [...parts.values()];
}

const NOTHING = (cached: number | null) => ({
  numSegments: 0,
  numTokens: 0,
  numCached: cached === null ? null : 0,
});

/** End to end from 0 to 1. */
export function slicesOf({ segments, num_cached_tokens, num_prompt_tokens }: Preview): Slice[] {
  const cached = num_cached_tokens ?? 0;
  return segments.flatMap(({ kind, start, end }) => {
    const cut = Math.min(Math.max(start, cached), end);
    const pieces = [
      { kind, start, end: cut, isCached: true },
      { kind, start: cut, end, isCached: false },
    ];
    return pieces
      .filter((piece) => piece.end > piece.start)
      .map(({ start, end, ...piece }) => ({
        ...piece,
        start: start / num_prompt_tokens,
        share: (end - start) / num_prompt_tokens,
      }));
  });
}

/** Tokens of pictures stand in no figure before the answer. */
function pictureWords({ segments }: Preview): string {
  const num = segments.filter(({ kind }) => kind === "image").length;
  return num ? ` Without ${counted(num, "picture")}, whose tokens only the server knows.` : "";
}

export function roomWords(preview: Preview): string {
  const { num_prompt_tokens, window, reserved_output, dropped, summarised } = preview;
  const gone = dropped.reduce((sum, { num_tokens }) => sum + num_tokens, 0);
  const short = summarised.reduce((sum, { num_tokens }) => sum + num_tokens, 0);
  const left = dropped.length
    ? ` ${counted(dropped.length, "old message")} with ${counted(gone, "token")} will not fit.`
    : "";
  const replaced = summarised.length
    ? ` A summary stands for ${counted(summarised.length, "old message")} with ${counted(short, "token")}.`
    : "";
  return `${count(num_prompt_tokens)} of ${counted(window, "token")}; ${count(reserved_output)} are kept for the answer.${pictureWords(preview)}${replaced}${left}`;
}

export function cacheWords({ num_cached_tokens: cached, num_prompt_tokens: total }: Preview): string {
  if (cached === null) return "Unknown: no worker reports it.";
  return cached
    ? `${count(cached)} of ${counted(total, "token")} are in the cache now.`
    : "The cache has none of it.";
}

/** numAnswers: each answer has a prompt and an answer to pay for. */
export function priceWords(preview: Preview, numAnswers: number): string {
  const { price, num_output_tokens: most } = preview;
  if (!price) return "Unpriced: this model has no prices today.";
  const { prompt_nano, most_answer_nano, currency } = price;
  const total = money((prompt_nano + most_answer_nano) * numAnswers, currency);
  const each = numAnswers > 1 ? `, ${numAnswers} answers together` : "";
  return `${money(prompt_nano, currency)} for the prompt; at most ${total} with ${counted(most, "token")} of answer${each}.${pictureWords(preview)}`;
}

export function waitWords({ wait: { first_text_us, num_recent, num_queued } }: Preview): string {
  const queue = num_queued
    ? `${counted(num_queued, "request")} wait${num_queued === 1 ? "s" : ""} in front.`
    : "";
  const usual =
    first_text_us === null
      ? "Unknown: you have too few answered requests yet."
      : `About ${roughly(first_text_us)} to the first text, as in your last ${counted(num_recent, "request")}.`;
  return [usual, queue].filter(Boolean).join(" ");
}
