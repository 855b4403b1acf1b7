/** The figure under a scene's name in the strip: a word or two, mostly how long it took. */
import { count, counted, duration, money } from "./format";
import { checkAtGate, readings, type SceneId } from "./scenes";
import { numRead, type TraceView } from "./view";

/** Null: nothing of the scene is recorded yet. */
export function stripFigure(view: TraceView, id: SceneId): string | null {
  return FIGURES[id](view);
}

const took = (event: { duration_us: number } | null | undefined) =>
  event ? duration(event.duration_us) : null;

const FIGURES: Record<SceneId, (view: TraceView) => string | null> = {
  message: ({ gateway, accepted }) => took(gateway) ?? (accepted && "sent"),
  window: ({ context }) => took(context),
  tokens: ({ prompt }) => took(prompt),
  check: (view) => took(checkAtGate(view)),
  queue: ({ queued, started }) =>
    started && queued ? duration(started.at - queued.at) : queued ? "waiting" : null,
  cache: (view) =>
    view.cache && `${count(view.cache.num_cached_tokens)}${view.prompt ? ` of ${count(numRead(view))}` : ""}`,
  prefill: (view) => {
    const chunks = readings(view);
    return chunks.length ? duration(chunks.reduce((sum, { step_us }) => sum + step_us, 0)) : null;
  },
  draw: ({ tokens }) => {
    const [first, last] = [tokens[0], tokens.at(-1)];
    if (!first || !last) return null;
    return `${counted(tokens.length, "token")} · ${duration(last.at - first.at)}`;
  },
  stream: ({ withheld, outputChecks, releases }) => {
    if (withheld) return "withheld";
    return releases.length ? counted(outputChecks.length, "check") : null;
  },
  bill: ({ bill }) => bill && (bill.lines.length ? money(bill.total_nano, bill.currency) : "unpriced"),
};
