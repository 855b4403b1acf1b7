/** The line below an answer: its state and figures, from its trace or from the figures saved with the message. */
import type { UnitPrices } from "../../protocol/api";
import type { BillPosted, SafetyChecked } from "../../protocol/events";
import { count, counted, duration, money, seconds } from "../format";
import { runningNano, savedBy } from "../context/running-cost";
import { endOf, endOfMessage, type Ending, type SavedAnswer, type Outcome } from "../outcome";
import { isTakenOver } from "../take-overs";
import { categoryWords } from "./safety-words";
import { tokensPerSecond } from "./sentences";
import {
  allTokens,
  atLastGeneration,
  firstTextUs,
  isOver,
  waitedForChoice,
  type TraceView,
  waitingApprovals,
} from "../view";

export interface Summary {
  /** The request's activity, or its end when it did not end by itself. */
  state: string | null;
  isWrong: boolean;
  figures: string[];
}

const ENDINGS: Record<Exclude<Outcome, "running">, string | null> = {
  done: null,
  length: "cut at the length limit",
  repetition: "ended: it repeated itself",
  stopped: "stopped",
  withheld: "partly withheld",
  blocked: "blocked",
  failed: "failed",
};

const WRITING = "writing";
const NO_ROOM = "cut: no room left";
const ALL_WITHHELD = "withheld";

/** silentS: seconds without an event of an answer that is being written; null: events come.
 *
 * prices: of the model today; null: they are not known, and the running cost is left out. */
export function summaryOfTrace(
  view: TraceView,
  silentS: number | null = null,
  prices: UnitPrices | null = null,
): Summary {
  const num = allTokens(view).length;
  const speed = tokensPerSecond(view);
  const waited = waitedForChoice(view, 0, view.at);
  const ending = endOf(view);
  const state = ending.outcome === "running" ? stateOf(atLastGeneration(view)) : stateAfter(ending);
  const isSilent = silentS !== null && state === WRITING;
  return summary(ending, isSilent ? "waiting" : state, [
    isSilent && `no token for ${silentS}\u00a0s`,
    num > 0 && counted(num, "token"),
    firstTextAfter(firstTextUs(view)),
    speed !== null && `${speed.toFixed(0)} tokens/s`,
    waited > 0 && `waited ${duration(waited)} for your choice`,
    flagged(view),
    costWords(view, prices),
    view.bill && cacheWords(view.bill),
  ]);
}

/** The cost so far, and at the end that of the bill. */
function costWords(view: TraceView, prices: UnitPrices | null): string | null {
  const { bill } = view;
  if (bill) return bill.lines.length ? money(bill.total_nano, bill.currency) : null;
  const nano = prices && runningNano(view, prices);
  return nano === null ? null : `${money(nano, prices!.currency)} so far`;
}

/** What the cache did for this answer, in the bill's own figures. */
export function cacheWords(bill: BillPosted): string | null {
  const saving = savedBy(bill);
  if (!saving?.numRead) return null;
  const read = `${counted(saving.numRead, "token")} from the cache`;
  if (!saving.nano) return read;
  const amount = money(Math.abs(saving.nano), bill.currency);
  return saving.nano > 0 ? `${read} saved ${amount}` : `${read}, but writing to it cost ${amount} more`;
}

const firstTextAfter = (us: number | null) => us !== null && `${seconds(us)} to first text`;

function stateAfter({ outcome, cut, isAllWithheld }: Ending): string | null {
  if (outcome === "running") return null;
  if (cut && cut.by !== "setting") return NO_ROOM;
  return isAllWithheld ? ALL_WITHHELD : ENDINGS[outcome];
}

/** The finding of a check that flagged a text. */
function flagged({ inputCheck, generations }: TraceView): string | null {
  const found = (check: SafetyChecked | null | undefined, what: string) =>
    check?.verdict === "flag"
      ? `${what} flagged: ${check.scores
          .filter(({ verdict }) => verdict === "flag")
          .map(({ category }) => categoryWords(category))
          .join(", ")}, but allowed`
      : null;
  const output = generations
    .flatMap(({ outputChecks }) => outputChecks)
    .find(({ verdict }) => verdict === "flag");
  return found(inputCheck, "message") ?? found(output, "answer");
}

/** The summary of a message whose trace was not read: less is known, and nothing is guessed. */
export function summaryOfMessage(message: SavedAnswer): Summary | null {
  const { status, figures, text } = message;
  // Its text came with the conversation, before its events.
  if (status === "streaming" && text) return { state: WRITING, isWrong: false, figures: [] };
  if (!figures) return null;
  const { usage, first_text_us } = figures;
  const ending = endOfMessage(message);
  return summary(ending, stateAfter(ending), [
    ending.outcome !== "withheld" && usage !== null && usage.output > 0 && counted(usage.output, "token"),
    firstTextAfter(first_text_us),
  ]);
}

function summary(
  { outcome }: Ending,
  state: string | null,
  figures: (string | false | null | undefined)[],
): Summary {
  const isWrong = ["withheld", "blocked", "failed"].includes(outcome);
  return { state, isWrong, figures: figures.filter((text): text is string => !!text) };
}

/** True while an answer that has begun is to go on by itself. */
export function isWriting(view: TraceView): boolean {
  const last = atLastGeneration(view);
  return !isOver(view) && last.generation === null && stateOf(last) === WRITING;
}

function stateOf(view: TraceView): string {
  const { cancelledAt, proposed, tokens, prefill, started, queued, inputCheck } = view;
  const chunk = prefill.at(-1);
  if (cancelledAt !== null) return "stopping";
  if (proposed) return "waiting for your choice";
  if (waitingApprovals(view).length) return "waiting for your approval";
  if (isTakenOver(view)) return "the worker ended; another goes on";
  if (tokens.length) return WRITING;
  if (chunk) return `reading ${Math.round((chunk.end / chunk.total) * 100)} %`;
  if (started) return "reading";
  if (queued?.queue_depth === null) return "waiting for the server";
  if (queued) return queued.queue_depth ? `queued, ${count(queued.queue_depth)} in front` : "queued";
  return inputCheck ? "assembling" : "checking";
}
