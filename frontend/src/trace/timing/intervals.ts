/**
 * The interval table: the parts of the time from keydown to the last paint. Intervals that followed each other never overlap;
 * intervals that ran beside them and unexplained time are separate.
 */
import { browserMoments } from "../browser-clock";
import type { StageId } from "../stages";
import { queueWaits, serverStart, type QueueWait } from "./queue-waits";
import { takeOvers } from "../take-overs";
import { allReleases, eachGeneration, waitedForChoice, type TraceView } from "../view";

export const CHOICE = "Waited for your choice";

/** The kind of wait is known only once a worker has begun. */
export const WAITS: Record<QueueWait["where"], string> = {
  worker: "Queue, until a worker was free",
  engine: "In the engine, until there was room",
  server: "Until the server began to answer",
  either: "Queue",
};

export interface Interval {
  stage: StageId;
  label: string;
  /** µs since acceptance. */
  start: number;
  end: number;
  /** Time spent in it, µs: all but the time in which a person was to choose a token. */
  spent: number;
  /** It ran beside those on the way to the answer, and nothing waited for it. */
  isBeside: boolean;
}

export interface IntervalTable {
  start: number;
  end: number;
  intervals: Interval[];
  /** Time that no interval explains, µs: total minus the intervals that followed each other. */
  unexplained: number;
}

type Moment = number | null | undefined;

export function intervalTable(view: TraceView): IntervalTable {
  const browser = browserMoments(view);
  const found: Interval[] = [];
  let last = Number.NEGATIVE_INFINITY;
  const add: Add = (stage, label, from, to) => {
    if (from == null || to == null) return last;
    const start = Math.max(from, last);
    if (to <= start) return last;
    // A paint goes on while the next token waits already.
    const waited = stage === "browser" ? 0 : waitedForChoice(view, start, to);
    found.push({ stage, label, start, end: to, spent: to - start - waited, isBeside: false });
    return (last = to);
  };
  const { accepted, gateway } = view;
  const received = accepted?.received_at;
  const [first, ...others] = eachGeneration(view);
  add("browser", "Key press to send", browser.keydown, browser.sent);
  add("browser", "Network, up", browser.sent, received);
  const preparation = preparationIntervals(first!);
  const begun = preparation.find((each) => !each.isBeside)?.start;
  add("gateway", "Gateway: sign-in, limits, records", received, least(gateway?.at, begun));
  if (gateway && begun !== undefined && begun < gateway.at)
    found.push(beside("gateway", "Saving the request", begun, gateway.at));
  add("gateway", "Hand over to the lifecycle worker", gateway?.at, begun);
  for (const interval of preparation)
    if (interval.isBeside) found.push(interval);
    else add(interval.stage, interval.label, interval.start, interval.end);
  embeddingIntervals(view, add);
  generationIntervals(first!, add, browser.firstPaint);
  for (const each of others) {
    const { context, prompt } = each;
    add("context", "Context assembly", context && context.at - context.duration_us, context?.at);
    add("tokens", "Tokenization", prompt && prompt.at - prompt.duration_us, prompt?.at);
    generationIntervals(each, add);
  }
  add("browser", "Network and last paint", allReleases(view).at(-1)?.at, browser.lastPaint);
  found.sort((a, b) => a.start - b.start);
  found.push(...choiceInterval(view, found));
  const start = browser.keydown ?? received ?? 0;
  const end = Math.max(
    last,
    browser.lastPaint ?? Number.NEGATIVE_INFINITY,
    view.choices.at(-1)?.end ?? start,
    start,
  );
  const explained = found.reduce((sum, each) => sum + (each.isBeside ? 0 : each.spent), 0);
  return { start, end, intervals: found, unexplained: Math.max(0, end - start - explained) };
}

/** Adds an interval if it goes beyond those before, and returns how far they reach. */
type Add = (stage: StageId, label: string, from: Moment, to: Moment) => number;

function embeddingIntervals(
  { embeddedTexts: texts, embedding, finished, failed }: TraceView,
  add: Add,
): void {
  add("tokens", "Tokenization", texts && texts.at - texts.duration_us, texts?.at);
  add("prefill", "Embedding", embedding && embedding.at - embedding.duration_us, embedding?.at);
  add("bill", "Bill", embedding?.at, (finished ?? failed)?.at);
}

/** From a generation's queue to its last text. */
function generationIntervals(view: TraceView, plain: Add, firstPaint?: Moment): void {
  const { add, end } = aroundTakeOvers(view, plain);
  const { started, generation, prefill, tokens, releases } = view;
  const [firstToken, lastToken] = [tokens[0]?.at, tokens.at(-1)?.at];
  const firstDrawn = firstDrawnAt(view);
  const prefillStart = serverStart(view) ?? (prefill[0] && prefill[0].at - prefill[0].step_us);
  for (const { where, start, end } of started ? queueWaits(view) : []) add("queue", WAITS[where], start, end);
  add(
    "prefill",
    started?.server ? "The server's start to the first token" : "Prefill to the first token",
    prefillStart,
    firstDrawn == null || firstToken === undefined ? firstDrawn : Math.min(firstDrawn, firstToken),
  );
  add("release", "Safety check of the first text", firstToken, releases[0]?.at);
  const last = plain("browser", "Network and first paint", releases[0]?.at, firstPaint);
  add("sampling", "Decode of the rest", last > 0 ? last : firstToken, lastToken);
  add("release", "Safety check of the last text", lastToken, releases.at(-1)?.at ?? generation?.at);
  end();
}

/** Intervals with the pauses cut out in which no worker had the answer; `end` adds the pauses that are left. */
function aroundTakeOvers(view: TraceView, plain: Add): { add: Add; end: () => void } {
  const over = view.generation ?? view.finished ?? view.failed;
  const left = takeOvers(view).map((each) => ({ ...each, end: each.end ?? over?.at }));
  const pause = () => {
    const { label, start, end } = left.shift()!;
    return plain("queue", label, start, end);
  };
  const add: Add = (stage, label, from, to) => {
    while (from != null && to != null && left[0] && left[0].start < to) {
      plain(stage, label, from, left[0].start);
      from = Math.max(from, pause());
    }
    return plain(stage, label, from, to);
  };
  return {
    add,
    end: () => left.splice(0).forEach(({ label, start, end }) => plain("queue", label, start, end)),
  };
}

/** When the generation's first token was drawn: a person may have taken time to choose it. */
function firstDrawnAt({ started, tokens, choices, proposedAt }: TraceView): Moment {
  const firstToken = tokens[0]?.at;
  const since = started?.at ?? Number.NEGATIVE_INFINITY;
  const chosen = choices.find(({ start }) => start >= since);
  return chosen?.start ?? proposedAt ?? firstToken;
}

/** A person's time to choose tokens, as one interval of its own; a paint's time meanwhile is the paint's. */
function choiceInterval({ choices }: TraceView, found: Interval[]): Interval[] {
  const [first, last] = [choices[0], choices.at(-1)];
  if (!first || !last) return [];
  const length = ({ start, end }: { start: number; end: number }) => Math.max(0, end - start);
  const paints = found.filter(({ stage }) => stage === "browser");
  const spent = choices.reduce(
    (sum, choice) =>
      sum +
      length(choice) -
      paints.reduce(
        (both, paint) =>
          both + length({ start: Math.max(choice.start, paint.start), end: Math.min(choice.end, paint.end) }),
        0,
      ),
    0,
  );
  return [{ stage: "browser", label: CHOICE, start: first.start, end: last.end, spent, isBeside: false }];
}

const least = (a: Moment, b: Moment): Moment => (a == null || b == null ? (a ?? b) : Math.min(a, b));

const beside = (stage: StageId, label: string, start: number, end: number): Interval => ({
  stage,
  label,
  start,
  end,
  spent: end - start,
  isBeside: true,
});

/**
 * The check runs beside assembly and tokenizer: the request waited for the one that ended last. All of them may run
 * while the request is saved; the request then waits for that.
 */
function preparationIntervals({ gateway, inputCheck, context, prompt }: TraceView): Interval[] {
  const interval = (
    stage: StageId,
    label: string,
    event: { at: number; duration_us: number } | null,
  ): Interval[] =>
    event
      ? [
          {
            stage,
            label,
            start: event.at - event.duration_us,
            end: event.at,
            spent: event.duration_us,
            isBeside: false,
          },
        ]
      : [];
  const check = interval("safety", "Safety check of the message", inputCheck);
  const packing = [
    ...interval("context", "Context assembly", context),
    ...interval("tokens", "Tokenization", prompt),
  ];
  const all = [...check, ...packing].sort((a, b) => a.start - b.start || b.end - a.end);
  if (gateway && all.every(({ end }) => end <= gateway.at))
    return all.map((each) => ({ ...each, isBeside: true }));
  const checked = check[0];
  const packed = packing.at(-1);
  if (!checked || !packed || checked.start >= packed.end || packing[0]!.start >= checked.end) return all;
  const isBeside = (each: Interval) => (each === checked) === checked.end < packed.end;
  return all.map((each) => ({ ...each, isBeside: isBeside(each) }));
}
