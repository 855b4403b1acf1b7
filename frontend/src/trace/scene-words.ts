/** What each scene of the journey says in one sentence, from this request's own numbers. */
import type { TokenSampled } from "../protocol/events";
import { pieceLabel } from "./bytes";
import { count, counted, percent } from "./format";
import { DRAW_PARTS } from "./pace";
import { columns, finalProbabilities, isGreedy } from "./probability";
import { numReleased, SCENES, sceneIndex, type SceneId } from "./scenes";
import { sentence, story } from "./sentences";
import { quotedName } from "./token-name";
import { isOver, numKept, type TraceView } from "./view";
import { savedTime } from "./saved-time";

/** The scene's one sentence; of a token that is being shown, what is shown of it at this beat (0 to 1). */
export function caption(view: TraceView, id: SceneId, beat = 1): string {
  if (view.failed) return story(view);
  if (id === "message") return messageCaption(view);
  if (id === "check") return checkCaption(view);
  if (id === "tokens" && view.forked) return forkCaption(view);
  if (id === "cache") return cacheCaption(view);
  if (id === "draw" && view.tokens.length) return drawCaption(view, beat);
  if (id === "stream") return streamCaption(view);
  if (id === "bill" && !view.bill) return runningBill(view);
  const { stage } = SCENES[sceneIndex(id)]!;
  return sentence(view, stage);
}

function messageCaption(view: TraceView): string {
  return view.gateway ? sentence(view, "gateway") : "The message has arrived; the gateway looks at it first.";
}

function checkCaption(view: TraceView): string {
  const { inputCheck, context, prompt } = view;
  const wasBeside = (event: Timed | null) =>
    event !== null && inputCheck !== null && overlap(event, inputCheck);
  const done = [
    ...(wasBeside(context) ? ["packed"] : []),
    ...(wasBeside(prompt) ? ["cut into tokens"] : []),
  ].join(" and ");
  return `${sentence(view, "safety")}${done ? ` Meanwhile the prompt was ${done}.` : ""}`;
}

/** Stamped at its end, as all that takes time. */
interface Timed {
  at: number;
  duration_us: number;
}

const overlap = (a: Timed, b: Timed) => a.at - a.duration_us < b.at && b.at - b.duration_us < a.at;

function forkCaption(view: TraceView): string {
  return `${sentence(view, "prompt")} ${counted(numKept(view), "token")} of the answer it goes on from ${numKept(view) === 1 ? "follows" : "follow"}: the model reads them too.`;
}

function cacheCaption(view: TraceView): string {
  const { cache, started } = view;
  if (!cache) {
    if (started?.server)
      return `${started.server} does not report what it takes from its cache block by block.`;
    return isOver(view)
      ? "The request ended before this stage."
      : "The prompt's blocks have not been looked up yet.";
  }
  const numHits = cache.hits.filter(Boolean).length;
  const saved = savedTime(cache);
  const blocks = `${count(numHits)} of ${counted(cache.hits.length, "full block")} of ${cache.block_size} tokens`;
  if (!cache.num_cached_tokens) return `None of the prompt was in the cache: all of it is computed.`;
  return `${blocks} were computed for an earlier request: ${counted(cache.num_cached_tokens, "token")} need not be computed again${saved ? `, which saves ${saved}` : ""}.`;
}

/** What is being shown of the draw: `beat` as in DRAW_PARTS. */
function drawCaption({ tokens, accepted }: TraceView, beat: number): string {
  const token = tokens.at(-1)!;
  if (beat >= DRAW_PARTS.drawn || !token.candidate_ids.length || !accepted) return drawnCaption(token);
  const steps = columns(token, accepted.params);
  if (beat < DRAW_PARTS.risen) {
    const first = token.candidate_pieces.slice(0, 2).map((piece, index) => {
      return `“${pieceLabel(piece)}” ${percent(steps[0]!.probabilities[index] ?? 0)}`;
    });
    return `For the next token the model gives each one it knows a probability: ${first.join(", ")}, and so on.`;
  }
  if (isGreedy(token)) return "No draw: the most likely is taken.";
  if (token.stages === null) return drawnCaption(token);
  if (beat < DRAW_PARTS.cut) {
    const left = steps.at(-1)!.numCandidates;
    return `The sampler's stages reshape that, one after the other; ${left === null ? "" : `${counted(left, "token")} ${left === 1 ? "is" : "are"} left.`}`;
  }
  return `What is left stands end to end, from 0 to 1; the number u, drawn evenly between them, falls on it.`;
}

function drawnCaption(token: TokenSampled): string {
  const name = quotedName(token);
  if (token.logprob === null)
    return `Token ${token.position + 1} is ${name}; how probable it was is not reported by this server.`;
  const model = `The model gave ${name} ${percent(Math.exp(token.logprob))}`;
  if (isGreedy(token)) return `${model}, more than any other: it was taken without a draw.`;
  if (token.u === null || token.low === null || token.high === null)
    return `${model}; how it was drawn is not reported by this server.`;
  const after = percent(token.high - token.low);
  return `${model}; the sampler's stages made that ${after}, and the draw u = ${token.u.toFixed(3)} fell on it.`;
}

function streamCaption(view: TraceView): string {
  const { withheld, tokens, outputChecks } = view;
  if (withheld) return sentence(view, "guard");
  const numHeld = tokens.length - numReleased(view);
  const held = numHeld
    ? `${counted(numHeld, "token")} wait${numHeld === 1 ? "s" : ""} for the safety check`
    : "";
  if (!outputChecks.length || !numReleased(view))
    return held
      ? `${held} before the browser gets ${numHeld === 1 ? "it" : "them"}.`
      : sentence(view, "guard");
  return numHeld && !view.generation
    ? `${counted(numReleased(view), "token")} left for the browser; ${held}.`
    : sentence(view, "guard");
}

function runningBill(view: TraceView): string {
  if (isOver(view)) return "Nothing was computed, so there is nothing to pay.";
  const numPrompt = (view.context?.num_prompt_tokens ?? 0) + numKept(view);
  return `${count(numPrompt)} tokens in, ${count(view.tokens.length)} out so far; the bill with its prices is posted at the end.`;
}

/** How many candidates are named. */
const NUM_NAMED = 5;

/** A scene's picture in words, for those who do not see it. */
export function pictureWords(view: TraceView, scene: SceneId): string {
  const said = caption(view, scene);
  if (scene === "draw" || scene === "stream") return [said, drawWords(view)].filter(Boolean).join(" ");
  if (scene === "window")
    return [
      said,
      ...(view.context?.segments ?? [])
        .slice(0, 20)
        .map(({ kind, start, end }) => `${kind}: ${counted(end - start, "token")}.`),
    ].join(" ");
  return said;
}

function drawWords({ tokens, accepted }: TraceView): string {
  const token = tokens.at(-1);
  if (!token || !accepted) return "";
  const name = quotedName(token);
  const start = `Token ${token.position + 1} is ${name}.`;
  if (!token.candidate_ids.length) return `${start} Its candidates are not reported.`;
  const model = columns(token, accepted.params)[0]!.probabilities;
  const final = finalProbabilities(token, accepted.params);
  const named = token.candidate_pieces.slice(0, NUM_NAMED).map((piece, index) => {
    const left = final ? (final[index] === null ? ", then out" : `, then ${percent(final[index]!)}`) : "";
    return `“${pieceLabel(piece)}” ${percent(model[index] ?? 0)}${left}`;
  });
  return `${start} By the model: ${named.join("; ")}. ${howDrawn(token)}`;
}

function howDrawn(token: TraceView["tokens"][number]): string {
  if (isGreedy(token)) return "The most likely was taken, without a draw.";
  if (token.u === null || token.low === null || token.high === null) return "The draw is not reported.";
  return `u = ${token.u.toFixed(4)} fell into its interval from ${token.low.toFixed(4)} to ${token.high.toFixed(4)}.`;
}
