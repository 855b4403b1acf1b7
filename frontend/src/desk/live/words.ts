/** Words of the live pages. Pure. */
import type { LiveRequest, LiveWorker } from "../../protocol/api";
import { count } from "../../trace/format";
import { fullName } from "../../ui/model-names";

export const STATES: Record<LiveWorker["state"], string> = {
  ready: "ready",
  draining: "draining",
  loading: "loading the model",
  failed: "failed",
  stopped: "stopped",
  lost: "lost",
};

/** A span as people say it: "4 s", "12 min", "3 h 5 min", "2 d 4 h". */
export function span(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  const [min, h, d] = [Math.floor(s / 60), Math.floor(s / 3600), Math.floor(s / 86_400)];
  if (s < 60) return `${s}\u00a0s`;
  if (min < 60) return `${min}\u00a0min`;
  if (h < 24) return min % 60 ? `${h}\u00a0h ${min % 60}\u00a0min` : `${h}\u00a0h`;
  return h % 24 ? `${d}\u00a0d ${h % 24}\u00a0h` : `${d}\u00a0d`;
}

// Making a formatter takes a hundred times as long as using it.
const MINUTES: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const toMinute = new Intl.DateTimeFormat("en-US", MINUTES);
const toSecond = new Intl.DateTimeFormat("en-US", { ...MINUTES, second: "2-digit" });

/** A time of the day, to the second. */
export function clock(unixMs: number): string {
  return toSecond.format(unixMs);
}

/** The time axis that the charts of a page share. */
export interface TimeAxis {
  /** The beginnings of the parts. */
  starts: readonly number[];
  /** Each beginning to the minute. */
  labels: string[];
  /** Each beginning to the second. */
  times: string[];
}

export function axisOf(starts: readonly number[]): TimeAxis {
  const labels = starts.map((start) => toMinute.format(start));
  return { starts, labels, times: starts.map(clock) };
}

/** A worker that does not work now, in a sentence; empty: it is ready. */
export function troubleText({ state, message, last_ms, progress }: LiveWorker, nowMs: number): string {
  const last =
    last_ms === null ? "" : ` Its last word came at ${clock(last_ms)}, ${span(nowMs - last_ms)} ago.`;
  switch (state) {
    case "ready":
      return "";
    case "draining":
      return "It ends its answers and takes no new requests.";
    case "loading":
      return `It loads the model: ${Math.round((progress ?? 0) * 100)}\u00a0%.`;
    case "failed":
      return `It failed: ${message || "its log has the details."}${last}`;
    case "stopped":
      return `It was told to stop.${last}`;
    case "lost":
      return `It has fallen silent, and what it does is not known.${last}`;
  }
}

/** An ended worker ran until its last word. */
function ranText({ state, last_ms }: LiveWorker, startedMs: number, nowMs: number): string {
  const isOver = state === "stopped" || state === "lost" || state === "failed";
  return isOver
    ? `ran for ${span((last_ms ?? startedMs) - startedMs)}`
    : `running for ${span(nowMs - startedMs)}`;
}

/** The worker's model and machinery. */
export function aboutText(worker: LiveWorker, nowMs: number, nameOf = (model: string) => model): string {
  const { model, device, quantization, compute, server, started_ms } = worker;
  const parts = [
    fullName(model, nameOf) + (device ? ` on ${device}` : ""),
    quantization,
    compute,
    server && `remote server ${server}`,
    started_ms === null ? null : ranText(worker, started_ms, nowMs),
  ];
  return parts.filter(Boolean).join(" · ");
}

export function stateText(request: LiveRequest): string {
  switch (request.state) {
    case "waiting":
      return "waits";
    case "prefill":
      return "prompt is read";
    case "decode":
      return "answer is written";
    case "paused":
      return "step mode: waits for a choice";
    case null:
      return "at the remote server";
  }
}

/** Tokens so far: of a prompt that is being read, its part. */
export function tokensText(request: LiveRequest): string {
  const { state, num_prompt_tokens, num_computed_tokens, num_output_tokens } = request;
  if (state === "prefill" && num_computed_tokens !== null)
    return `${count(num_computed_tokens)} of ${count(num_prompt_tokens)}`;
  return `${count(num_prompt_tokens)} + ${count(num_output_tokens)}`;
}
