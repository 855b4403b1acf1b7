/** Findings on the writing of the answer after its first token: the causes that slowed it. */
import { counted, duration, roughly } from "../format";
import { tokensPerSecond } from "../words/sentences";
import { speculationOf } from "../sampling/speculation";
import { batchCost, median, numOthers, stepsOf } from "../timing/steps";
import { waitedForChoice, type TraceView } from "../view";
import type { Finding } from "./finding";
import { longWriting } from "./long";

/** Least share of the writing that a cause must take to explain its pace. */
const SHARE_OF_WRITING = 0.2;
/** Least delay that a reader who follows along notices. */
const NOTICED_US = 500_000;
/** Tokens a second at which most people read (some 240 words a minute). */
const READING_SPEED = 5.5;
/** A gap of this length, and of ten times the usual one, is seen as a standstill. */
const STANDSTILL_US = 1_000_000;
const STANDSTILL_FACTOR = 10;
/** Number of other sequences in the typical step to report, even where their cost is not known. */
const CROWD = 4;

/** Time of the writing; null: fewer than two tokens are known. */
function writingUs(view: TraceView): number | null {
  const [first, last] = [view.tokens[0], view.tokens.at(-1)];
  if (!first || !last || first === last) return null;
  return last.at - first.at - waitedForChoice(view, first.at, last.at);
}

export function writing(view: TraceView): Finding[] {
  const us = writingUs(view);
  const preempted = preemptions(view, us);
  if (us === null || us <= 0) return preempted;
  const found = [...preempted, ...batch(view, us), ...standstill(view, us), ...asides(view, us)];
  const paced = found.length ? found : slow(view);
  return paced.some(({ kind }) => kind === "slow") ? paced : [...paced, ...longWriting(view, us)];
}

/** The finding on other sequences in the steps: their cost, or that the request never was alone. */
function batch(view: TraceView, writing: number): Finding[] {
  const steps = stepsOf(view).filter(({ kind }) => kind === "decode");
  const { alone, batched, extra, numAlone } = batchCost(steps);
  const crowds = steps.flatMap((step) => numOthers(step) ?? []);
  const most = Math.max(0, ...crowds);
  const at = steps.find((step) => numOthers(step) === most)?.at ?? 0;
  if (extra !== null && extra >= NOTICED_US && extra / writing >= SHARE_OF_WRITING)
    return [
      {
        kind: "batch",
        sentence: `Up to ${counted(most, "other request")} in the same steps slowed the writing by about ${roughly(extra)} of ${duration(writing)}. A token took ${duration(batched!)} beside others, ${duration(alone!)} alone.`,
        weight: Math.min(1, extra / writing),
        at,
      },
    ];
  if (extra !== null || numAlone || (median(crowds) ?? 0) < CROWD) return [];
  const sentence = `Up to ${counted(most, "other request")} shared each step. The cost of that is not known, because this request never wrote alone.`;
  return [{ kind: "batch", sentence, weight: SHARE_OF_WRITING, at }];
}

function standstill(view: TraceView, writing: number): Finding[] {
  const gaps = view.tokens.slice(1).map((token, index) => {
    const before = view.tokens[index]!;
    const isOther = [...view.preemptions, ...view.interruptions].some(
      ({ at }) => at >= before.at && at <= token.at,
    );
    return { token, us: isOther ? 0 : token.at - before.at - waitedForChoice(view, before.at, token.at) };
  });
  const longest = gaps.reduce((a, b) => (b.us > a.us ? b : a), gaps[0]!);
  const usual = median(gaps.map(({ us }) => us))!;
  if (longest.us < STANDSTILL_US || longest.us < STANDSTILL_FACTOR * usual) return [];
  const { position, at } = longest.token;
  const sentence = `Writing paused for ${duration(longest.us)} between token ${position} and token ${position + 1}. Usually the next token came after ${duration(usual)}.`;
  return [{ kind: "stall", sentence, weight: Math.min(1, longest.us / writing), position, at }];
}

function preemptions(view: TraceView, writing: number | null): Finding[] {
  const { tokens } = view;
  const [first] = view.preemptions;
  if (!first) return [];
  const num = view.preemptions.length;
  const lost = view.preemptions.reduce((sum, { at }) => {
    const next = tokens.find((token) => token.at > at);
    return sum + (next ? next.at - at - waitedForChoice(view, at, next.at) : 0);
  }, 0);
  const again = view.preemptions.reduce((sum, event) => sum + event.num_tokens, 0);
  const times = num === 1 ? "once" : num === 2 ? "twice" : `${num} times`;
  return [
    {
      kind: "preempted",
      sentence: `The cache was full, so the engine preempted the request ${times}. The request gave up its blocks, and the model read ${counted(again, "token")} again${lost ? `, which took ${duration(lost)}` : ""}.`,
      weight: writing && lost ? Math.min(1, lost / (writing + lost)) : SHARE_OF_WRITING,
      at: first.at,
    },
  ];
}

/** Findings on guesses that did not pay, and on a slow grammar. */
function asides(view: TraceView, writing: number): Finding[] {
  const found: Finding[] = [];
  const { numGuessed, numAccepted, savedUs } = speculationOf(view);
  const wasted = -(savedUs ?? 0);
  if (wasted >= NOTICED_US && wasted / writing >= SHARE_OF_WRITING)
    found.push({
      kind: "drafts",
      sentence: `Guessing ahead lost about ${roughly(wasted)}: only ${numAccepted} of ${numGuessed} guesses were right.`,
      weight: Math.min(1, wasted / writing),
    });
  const masked = view.masks.reduce((sum, mask) => sum + mask.duration_us, 0);
  if (masked >= NOTICED_US && masked / writing >= SHARE_OF_WRITING)
    found.push({
      kind: "grammar",
      sentence: `The grammar took ${duration(masked)} of the ${duration(writing)} of writing to work out the allowed tokens.`,
      weight: Math.min(1, masked / writing),
    });
  return found;
}

/** The finding on writing below reading speed whose only cause is the steps themselves. */
function slow(view: TraceView): Finding[] {
  const speed = tokensPerSecond(view);
  if (speed === null || speed >= READING_SPEED || view.tokens.length < 3 || view.isStepped) return [];
  const step = median(view.tokens.flatMap(({ step_us }) => (step_us === null ? [] : [step_us])));
  const { device, model, server } = view.started ?? {};
  const who = server ?? [model, device && `on ${device}`].filter(Boolean).join(" ");
  const why = step === null ? "the time of a step is not reported" : `a step takes ${duration(step)}`;
  return [
    {
      kind: "slow",
      sentence: `The model wrote ${speed.toFixed(1)} tokens a second, slower than most people read: ${why}${who ? ` (${who})` : ""}.`,
      weight: 1 - speed / READING_SPEED,
    },
  ];
}
