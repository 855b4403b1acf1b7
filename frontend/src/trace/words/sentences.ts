/** One plain sentence per stage, made of this request's own numbers: narration, caption and screen-reader text. */
import type { BillPosted, GenerationQueued } from "../../protocol/events";
import type { StageId } from "../stages";
import { count, counted, duration, money } from "../format";
import { cutOf, cutSentence, failureTitle, outcomeOf, type Outcome } from "../outcome";
import { amountText } from "../limits";
import { browserMoments } from "../browser-clock";
import { queueWaits } from "../timing/queue-waits";
import { keptWords } from "../context/reading";
import { categoryWords, judged, worstOf } from "./safety-words";
import { gravest, verdictWords } from "../verdicts";
import { allResults, isOver, madeCalls, waitedForChoice, type TraceView } from "../view";
import { savedTime } from "../context/saved-time";

export function sentence(view: TraceView, stage: StageId): string {
  const missing = isOver(view)
    ? "The request ended before this stage."
    : "The trace has nothing on this stage yet.";
  return WRITERS[stage](view) ?? missing;
}

/** The request as a whole: its activity, or its end. */
export function story(view: TraceView): string {
  return STORIES[outcomeOf(view)](view);
}

const STORIES: Record<Outcome, (view: TraceView) => string> = {
  running: (view) =>
    view.started && !view.prefill.length
      ? "The engine is reading the prompt."
      : sentence(view, stageAtWork(view)),
  done: (view) => sentence(view, view.embedding ? "prefill" : "sampling"),
  length: (view) => {
    const cut = cutOf(view);
    return cut
      ? cutSentence(cut)
      : `The answer was cut at the length limit, after ${counted(view.tokens.length, "token")}.`;
  },
  repetition: (view) => `${sentence(view, "sampling")} Then the worker ended it, because it repeated itself.`,
  stopped: ({ tokens, cancelledBy }) =>
    cancelledBy === "operator"
      ? `An operator stopped the answer ${tokens.length ? `after ${counted(tokens.length, "token")}` : "before its first token"}.`
      : cancelledBy !== "user"
        ? `The answer was ended after ${counted(tokens.length, "token")}: ${cancelledBy}.`
        : tokens.length
          ? `You stopped the answer after ${counted(tokens.length, "token")}.`
          : "You stopped the request before the first token.",
  withheld: ({ withheld }) =>
    `The output check withheld ${counted(withheld!.num_tokens, "token")} (${categoryWords(withheld!.category)}); they never left the worker.`,
  blocked: (view) => `${sentence(view, "safety")} It did not reach the model.`,
  failed: ({ failed }) => `${failureTitle(failed!)}. ${failed!.message}`,
};

function stageAtWork(view: TraceView): StageId {
  if (view.tokens.length) return "sampling";
  if (view.prefill.length) return "prefill";
  if (view.queued) return "queue";
  if (view.prompt) return "tokens";
  return view.inputCheck ? "safety" : "gateway";
}

/** Tokens per second between each generation's first token and its last, without the time that a person took to choose. */
export function tokensPerSecond(view: TraceView): number | null {
  let [num, us] = [0, 0];
  for (const { tokens } of view.generations) {
    const [first, last] = [tokens[0], tokens.at(-1)];
    if (!first || !last) continue;
    num += tokens.length - 1;
    us += last.at - first.at - waitedForChoice(view, first.at, last.at);
  }
  return us > 0 ? num / (us / 1e6) : null;
}

const WRITERS: Record<StageId, (view: TraceView) => string | null> = {
  browser: (view) => {
    const { sent, firstPaint } = browserMoments(view);
    if (sent == null || firstPaint == null)
      return "The browser's own timing is not reported for this request.";
    return `The first text was on the screen ${duration(firstPaint - sent)} after sending.`;
  },
  gateway: ({ gateway }) =>
    gateway &&
    `The gateway took ${duration(gateway.duration_us)}; ${gateway.limits
      .map(
        (limit) =>
          `${limit.name.replaceAll("_", " ")}: ${amountText(limit, limit.remaining)} of ${amountText(limit, limit.limit)} left`,
      )
      .join(", ")}.`,
  safety: ({ inputCheck }) => inputCheck && verdictSentence("The message", [inputCheck]),
  context: ({ context }) =>
    context &&
    `The prompt takes ${count(context.num_prompt_tokens)} of the window's ${count(context.window)} tokens; ` +
      `${count(context.reserved_output)} are kept free for the answer` +
      (context.dropped.length
        ? `; ${counted(context.dropped.length, "old message")} did not fit.`
        : context.summarised?.length
          ? `; a summary stands for ${counted(context.summarised.length, "old message")}.`
          : "; every message fits."),
  tokens: ({ prompt, embeddedTexts }) => {
    if (embeddedTexts)
      return `${counted(embeddedTexts.texts.length, "text")} became ${counted(embeddedTexts.num_tokens, "token")}.`;
    if (!prompt) return null;
    const lost = prompt.lossy_bytes ? `; ${prompt.lossy_bytes} bytes have no token and were lost.` : ".";
    return `The tokenizer cut the prompt into ${count(prompt.ids.length)} tokens, ${prompt.special.length} of them control tokens${lost}`;
  },
  queue: (view) => view.queued && queueSentence(view, view.queued),
  prefill: ({ prefill, started, tokens, cache, forked, embedding }) => {
    if (embedding)
      return `${counted(embedding.num_texts, "vector")} of ${count(embedding.num_dimensions)} numbers computed in ${duration(embedding.computed_us)}.`;
    // A preemption's recomputation after the first token was no reading of the prompt.
    const chunks = prefill.filter((chunk) => !tokens[0] || chunk.at <= tokens[0].at);
    if (!chunks[0]) {
      if (!started?.server || !tokens[0]) return null;
      return `${started.server} does not report its prefill; its first token came after ${duration(tokens[0].at - started.at)}.`;
    }
    const us = chunks.reduce((sum, chunk) => sum + chunk.step_us, 0);
    const computed = chunks.reduce((sum, chunk) => sum + chunk.end - chunk.start, 0);
    const what = forked ? "tokens of the prompt and the answer it continues" : "prompt tokens";
    const how = `computed in ${duration(us)}, ${counted(chunks.length, "step")}`;
    if (!cache?.num_cached_tokens)
      return `${count(computed)} of ${count(chunks[0].total)} ${what} were ${how}.`;
    const saved = savedTime(cache);
    return `${count(cache.num_cached_tokens)} of ${count(chunks[0].total)} ${what} were in the cache${saved ? ` (saved ${saved})` : ""}; ${count(computed)} were ${how}.`;
  },
  sampling: (view) => {
    const speed = tokensPerSecond(view);
    if (!view.tokens.length) return null;
    const kept = view.forked ? `, after ${keptWords(view.forked)}` : "";
    return `${counted(view.tokens.length, "token")} ${view.tokens.length === 1 ? "was" : "were"} sampled${speed ? `, ${speed.toFixed(0)} a second` : ""}${kept}.`;
  },
  tools: toolsSentence,
  release: ({ outputChecks }) => (outputChecks.length ? verdictSentence("The answer", outputChecks) : null),
  bill: ({ bill }) => bill && billSentence(bill),
};

function toolsSentence(view: TraceView): string {
  const [calls, results] = [madeCalls(view), allResults(view)];
  const num = view.accepted?.params.tool_calls?.tools.length ?? 0;
  if (!num && !calls.length) return "The model was offered no tool.";
  if (!calls.length)
    return `The model was offered ${counted(num, "tool")} and called none${isOver(view) ? "" : " yet"}.`;
  const names = [...new Set(calls.map(({ name }) => name))].join(", ");
  const made = `The model made ${counted(calls.length, "call")}: ${names}.`;
  if (!results.length) return made;
  const longest = Math.max(...results.map(({ duration_us }) => duration_us));
  const numFailed = results.filter(({ is_error }) => is_error).length;
  const failed = numFailed ? `, and ${count(numFailed)} failed` : "";
  return `${made} ${results.length > 1 ? "The longest" : "It"} took ${duration(longest)}${failed}.`;
}

/** A sum under a cent is also given for a million of its kind: small parts of a cent cannot be compared. */
function billSentence({ lines, total_nano: total, currency }: BillPosted): string {
  const num = lines.reduce((sum, line) => sum + line.num_tokens, 0);
  const many = total > 0 && total < 1e7 ? `; a million such answers, ${money(total * 1e6, currency)}` : "";
  return `${counted(num, "token")} cost ${money(total, currency)}${many}.`;
}

function queueSentence(view: TraceView, { queue_depth: depth, at }: GenerationQueued): string {
  const { started } = view;
  const ahead = depth ? counted(depth, "request") : null;
  if (started?.server) {
    const front =
      depth === null
        ? "The number of requests in front is not reported"
        : `${ahead ?? "No request"} waited in front`;
    return `${front}; worker ${started.worker} asked ${started.server}, which began to answer after ${duration(started.at - at)}.`;
  }
  if (started) {
    const waited = queueWaits(view).map(({ start, end }) => duration(end - start));
    return `${ahead ?? "No request"} waited in front; it waited ${waited[0]} in the queue for a worker, and ${waited[1]} in that worker's engine for room.`;
  }
  if (depth === null) return "The server behind this model has the request; it does not report its queue.";
  return `The request waits in the queue, ${ahead ? `${ahead} in front of it` : "first in line"}; no worker has taken it yet.`;
}

/** Categories are named only where a limit was passed: a low score says nothing of the text. */
function verdictSentence(what: string, checks: NonNullable<TraceView["inputCheck"]>[]): string {
  const us = checks.reduce((sum, check) => sum + check.duration_us, 0);
  const cost = `${counted(checks.length, "check")}, ${duration(us)}`;
  const verdict = gravest(checks.map((check) => check.verdict));
  const score = verdict === "allow" ? "" : `${judged(worstOf(checks))}; `;
  return `${what} was ${verdictWords(verdict)} (${score}${cost}).`;
}
