/**
 * The steps of a log at which explaining stops. A short log stops at all; a long one at the first of each kind, at news
 * on the way, and at the end. It takes about a minute and a half for any length of the answer.
 */
import type { AnyEvent, TokenSampled } from "../../protocol/events";
import { decodeBase64 } from "../bytes";
import { nextStep } from "./log-steps";
import { shownMs } from "./pace";

type Log = readonly { event: AnyEvent }[];

export interface Stop {
  /** Number of events shown at it. */
  end: number;
  /** The news of the stop, where steps were left out before it; else null. */
  news: string | null;
}

/** Longest duration of the plan: viewers do not watch longer. */
export const MOST_MS = 90_000;
/** The first three tokens are explained whole; of other kinds two are shown: repetitions are known by then. */
const [NUM_TOKENS, NUM_OTHERS] = [3, 2];

export function planOf(log: Log): Stop[] {
  const steps = stepsOf(log);
  const length = steps.reduce((sum, end) => sum + shownMs(log[end - 1]!.event), 0);
  if (length <= MOST_MS) return steps.map((end) => ({ end, news: null }));
  const news = newsAt(log, steps);
  const usual = usualSteps(log, steps);
  return steps
    .filter((end) => usual.has(end) || news.has(end))
    .map((end) => ({ end, news: news.get(end) ?? null }));
}

/** All steps there are, by how many events are shown at each. */
export function stepsOf(log: Log): number[] {
  const found: number[] = [];
  for (let end: number | null = 0; (end = nextStep(log, end)) !== null;) found.push(end);
  return found;
}

/** The first few steps of each kind, and the last. */
function usualSteps(log: Log, steps: number[]): Set<number> {
  const kinds = new Map<string, number[]>();
  for (const end of steps) {
    const { event } = log[end - 1]!;
    const kind = event.type === "safety.checked" ? `${event.type} ${event.layer}` : event.type;
    if (!kinds.has(kind)) kinds.set(kind, []);
    kinds.get(kind)!.push(end);
  }
  const kept = [...kinds].flatMap(([kind, ends]) => [
    ...ends.slice(0, kind === "token.sampled" ? NUM_TOKENS : NUM_OTHERS),
    ends.at(-1)!,
  ]);
  return new Set([...kept, ...steps.slice(-1)]);
}

/** The kinds of news, each with the event that is the first of it (the least likely draw: the one of all). */
const NEWS: [string, (log: Log) => number][] = [
  [
    "the first guess that was right",
    (log) => first(log, (event) => event.type === "draft.verified" && event.num_accepted > 0),
  ],
  [
    "the first guess that was wrong",
    (log) => first(log, (event) => event.type === "draft.verified" && event.num_accepted < event.ids.length),
  ],
  ["the grammar removes tokens", (log) => first(log, (event) => event.type === "grammar.masked")],
  [
    "a character waits for its other bytes",
    (log) => first(log, (event) => event.type === "token.sampled" && isPartOfChar(event)),
  ],
  [
    "a token that a person chose",
    (log) => first(log, (event) => event.type === "token.sampled" && event.chosen_by === "person"),
  ],
  ["the least likely draw", leastLikely],
  ["the engine preempts the request", (log) => first(log, (event) => event.type === "generation.preempted")],
  ["another worker continues", (log) => first(log, (event) => event.type === "generation.resumed")],
  ["an agent is started", (log) => first(log, (event) => event.type === "agent.started")],
  ["a tool is called", (log) => first(log, (event) => event.type === "tool.called")],
  ["the user pressed Stop", (log) => first(log, (event) => event.type === "request.cancelled")],
  ["text is withheld", (log) => first(log, (event) => event.type === "text.withheld")],
  ["the last token", (log) => log.findLastIndex(({ event }) => event.type === "token.sampled")],
];

export const NEWS_WORDS = NEWS.map(([words]) => words);

/** News by the step at which each is seen: that of the event itself, or the next. */
function newsAt(log: Log, steps: number[]): Map<number, string> {
  const found = new Map<number, string>();
  for (const [words, find] of NEWS) {
    const index = find(log);
    const end = index < 0 ? undefined : steps.find((each) => each > index);
    if (end !== undefined) found.set(end, [found.get(end), words].filter(Boolean).join("; "));
  }
  return found;
}

const first = (log: Log, is: (event: AnyEvent) => boolean) => log.findIndex(({ event }) => is(event));

function leastLikely(log: Log): number {
  let [found, least] = [-1, 0];
  log.forEach(({ event }, index) => {
    if (event.type !== "token.sampled" || event.logprob === null || event.logprob >= least) return;
    [found, least] = [index, event.logprob];
  });
  return found;
}

function isPartOfChar({ piece }: TokenSampled): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(decodeBase64(piece));
    return false;
  } catch {
    return true;
  }
}
