/** One sentence for each scene of the journey, from this request's own numbers. */
import type { MemoryRecalled, SamplingParams, TokenSampled } from "../../protocol/events";
import { count, counted, duration, percent } from "../format";
import { closestCall } from "../sampling/calls";
import { DRAW_PARTS } from "./pace";
import { columns, finalProbabilities, isGreedy } from "../sampling/probability";
import { numReleased, readings, SCENES, sceneIndex, type SceneId } from "./scenes";
import { sentence, story } from "../words/sentences";
import { SETTING_NAMES, type SettingName } from "../words/setting-names";
import { quotedName, tokenName } from "../token-name";
import { isOver, numKept, type TraceView } from "../view";

/** The scene's one sentence; for a token being shown, on the part shown at this beat (0 to 1). */
export function caption(view: TraceView, id: SceneId, beat = 1): string {
  if (view.failed) return story(view);
  if (id === "sampling" && view.tokens.length) return samplingCaption(view, beat);
  return CAPTIONS[id](view) ?? sentence(view, SCENES[sceneIndex(id)]!.stage);
}

/** A caption for the token if it is the answer's closest call; else null. */
export function closestCaption(view: TraceView, position: number): string | null {
  const call = closestCall(view);
  if (call?.position !== position) return null;
  const { token, first, second, isAfterSettings } = call;
  const odds = `“${first.name}” ${percent(first.chance)}, “${second.name}” ${percent(second.chance)}`;
  return `The closest call: ${odds}${isAfterSettings ? "" : " by the model"}. ${isGreedy(token) ? "Without a draw, the model took" : "The draw took"} ${quotedName(token)}.`;
}

/** Null: the stage's own sentence says it. */
const CAPTIONS: Record<SceneId, (view: TraceView) => string | null> = {
  gateway: gatewayCaption,
  context: ({ context, recalled }) => {
    if (!context) return recalled ? recalledCaption(recalled) : null;
    const { num_prompt_tokens, window, dropped, segments } = context;
    const left = dropped.length ? `; ${counted(dropped.length, "old message")} left out` : "";
    const own = segments.findLast(({ kind }) => kind === "user");
    const message = own
      ? `Your message is ${counted(own.end - own.start, "token")}; the whole prompt`
      : "The prompt";
    return `${message} takes ${count(num_prompt_tokens)} of ${count(window)}${left}.`;
  },
  tokens: (view) => {
    if (view.forked) return forkCaption(view);
    const { prompt } = view;
    if (!prompt || prompt.lossy_bytes) return null;
    return `The tokenizer cut the prompt into ${counted(prompt.ids.length, "token")}.`;
  },
  safety: () => null,
  queue: (view) => {
    const { queued, started } = view;
    if (!queued || !started || started.server || queued.queue_depth === null) return null;
    const ahead = queued.queue_depth ? counted(queued.queue_depth, "request") : "No request";
    return `${ahead} waited in front; the engine took yours after ${duration(started.at - queued.at)}.`;
  },
  cache: cacheCaption,
  prefill: (view) => {
    const chunks = readings(view);
    if (!chunks.length || view.forked) return null;
    const us = chunks.reduce((sum, { step_us }) => sum + step_us, 0);
    const num = chunks.reduce((sum, { start, end }) => sum + end - start, 0);
    const cached = view.cache?.num_cached_tokens ?? 0;
    const whole = cached ? `the other ${counted(num, "token")}` : `all ${counted(num, "token")}`;
    return `The model read ${whole} of the prompt in ${duration(us)}.`;
  },
  sampling: () => null,
  release: releaseCaption,
  bill: (view) => (view.bill ? null : runningBill(view)),
};

function recalledCaption({ items, num_considered }: MemoryRecalled): string {
  const all = counted(num_considered, "memory", "memories");
  const found = items.length
    ? `${count(items.length)} of them ${items.length === 1 ? "joins" : "join"}`
    : "none of them joins";
  return `The site compared your message with ${all}; ${found} the prompt.`;
}

function gatewayCaption({ gateway }: TraceView): string {
  if (!gateway) return "The message has arrived. The gateway checks it first.";
  return `Signed in and within limits (${duration(gateway.duration_us)}).`;
}

function forkCaption(view: TraceView): string {
  return `${sentence(view, "tokens")} The model also reads ${counted(numKept(view), "token")} of the answer that this one continues.`;
}

function cacheCaption(view: TraceView): string {
  const { cache, started, prompt } = view;
  if (!cache) {
    if (started?.server) return `${started.server} does not report what it reuses.`;
    return isOver(view) ? "The request ended before this stage." : "The cache lookup has not happened yet.";
  }
  if (!cache.num_cached_tokens) return "Nothing to reuse: the model reads the whole prompt.";
  const all = prompt ? ` of ${count(prompt.ids.length + numKept(view))}` : "";
  return `The cache already holds ${count(cache.num_cached_tokens)}${all} tokens: the model reuses them.`;
}

/** The words on the shown part of the draw: `beat` as in DRAW_PARTS. */
function samplingCaption({ tokens, accepted }: TraceView, beat: number): string {
  const token = tokens.at(-1)!;
  if (beat >= DRAW_PARTS.drawn || !token.candidate_ids.length || !accepted)
    return drawnCaption(token, accepted?.params);
  if (beat < DRAW_PARTS.risen) return "The model gives every token it knows a probability.";
  if (isGreedy(token)) return "No draw: the most likely token is taken.";
  if (token.processors === null) return drawnCaption(token, accepted.params);
  if (beat < DRAW_PARTS.cut) {
    const left = columns(token, accepted.params).at(-1)!.numCandidates;
    return left === null
      ? "The settings reshape the odds."
      : `The settings reshape the odds and leave ${counted(left, "candidate")}.`;
  }
  const left = columns(token, accepted.params).at(-1)!.numCandidates;
  return left === 1
    ? "Only one candidate is left, so any draw takes it."
    : "A random number picks one of the candidates that are left.";
}

function drawnCaption(token: TokenSampled, params: SamplingParams | undefined): string {
  const name = quotedName(token);
  if (token.logprob === null)
    return `Token ${token.position + 1} is ${name}; its probability is not reported.`;
  const model = `The model gave ${name} ${percent(Math.exp(token.logprob))}`;
  if (isGreedy(token)) return `${model}, more than any other, so it was taken without a draw.`;
  if (token.u === null || token.low === null || token.high === null)
    return `${model}; this server does not report the draw.`;
  if (token.high - token.low > 0.9995) return `${model}. ${removerOf(token, params)} removed every rival.`;
  return `${model}, the settings made that ${percent(token.high - token.low)}, and the draw chose it.`;
}

/** The stage that left one candidate, as it begins a sentence. */
function removerOf(token: TokenSampled, params: SamplingParams | undefined): string {
  const name = params && columns(token, params).find(({ numCandidates }) => numCandidates === 1)?.name;
  if (!name) return "The settings";
  const words = name.replaceAll("_", " ");
  return SETTING_NAMES[name as SettingName] ?? words[0]!.toUpperCase() + words.slice(1);
}

function releaseCaption(view: TraceView): string {
  const { withheld, tokens, outputChecks } = view;
  if (withheld) return sentence(view, "release");
  const numBuffered = tokens.length - numReleased(view);
  const buffered = numBuffered
    ? `${counted(numBuffered, "token")} wait${numBuffered === 1 ? "s" : ""} for the safety check`
    : "";
  if (!outputChecks.length || !numReleased(view))
    return buffered
      ? `${buffered} before the browser gets ${numBuffered === 1 ? "it" : "them"}.`
      : sentence(view, "release");
  return numBuffered && !view.generation
    ? `The server sent ${counted(numReleased(view), "token")} to the browser; ${buffered}.`
    : sentence(view, "release");
}

function runningBill(view: TraceView): string {
  if (isOver(view)) return "The model computed nothing, so there is nothing to pay.";
  const numPrompt = (view.context?.num_prompt_tokens ?? 0) + numKept(view);
  return `${count(numPrompt)} tokens in, ${count(view.tokens.length)} out so far; the bill comes at the end.`;
}

/** Number of candidates that are named. */
const NUM_NAMED = 5;

/** A scene's picture in words, for readers who do not see it. */
export function pictureWords(view: TraceView, scene: SceneId): string {
  const said = caption(view, scene);
  if (scene === "sampling" || scene === "release")
    return [said, samplingWords(view)].filter(Boolean).join(" ");
  if (scene === "context")
    return [
      said,
      ...(view.context?.segments ?? [])
        .slice(0, 20)
        .map(({ kind, start, end }) => `${kind}: ${counted(end - start, "token")}.`),
    ].join(" ");
  return said;
}

function samplingWords(view: TraceView): string {
  const { tokens, accepted } = view;
  const token = tokens.at(-1);
  if (!token || !accepted) return "";
  const name = quotedName(token);
  const start = `Token ${token.position + 1} is ${name}.`;
  if (!token.candidate_ids.length) return `${start} Its candidates are not reported.`;
  const model = columns(token, accepted.params)[0]!.probabilities;
  const final = finalProbabilities(token, accepted.params);
  const named = token.candidate_pieces.slice(0, NUM_NAMED).map((piece, index) => {
    const left = final ? (final[index] === null ? ", then out" : `, then ${percent(final[index]!)}`) : "";
    return `“${tokenName(view, token.candidate_ids[index]!, piece, token)}” ${percent(model[index] ?? 0)}${left}`;
  });
  return `${start} By the model: ${named.join("; ")}. ${howDrawn(token)}`;
}

function howDrawn(token: TraceView["tokens"][number]): string {
  if (isGreedy(token)) return "The most likely token was taken, without a draw.";
  if (token.u === null || token.low === null || token.high === null) return "The draw is not reported.";
  return `u = ${token.u.toFixed(4)} fell into its interval from ${token.low.toFixed(4)} to ${token.high.toFixed(4)}.`;
}
