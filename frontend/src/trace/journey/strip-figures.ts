/** The figure under a scene's name in the strip: a word or two, mostly how long it took. */
import { count, counted, duration, money } from "../format";
import type { SceneId } from "./scenes";
import { sceneTime } from "./scene-times";
import { numRead, type TraceView } from "../view";

/** Null: nothing of the scene is recorded yet. */
export function stripFigure(view: TraceView, id: SceneId): string | null {
  return FIGURES[id](view);
}

function took(view: TraceView, id: SceneId): string | null {
  const spent = sceneTime(view, id);
  return spent === null ? null : duration(spent);
}

const FIGURES: Record<SceneId, (view: TraceView) => string | null> = {
  gateway: (view) => took(view, "gateway") ?? (view.accepted && "sent"),
  context: (view) => took(view, "context"),
  tokens: (view) => took(view, "tokens"),
  safety: (view) => took(view, "safety"),
  queue: (view) => took(view, "queue") ?? (view.queued ? "waiting" : null),
  cache: (view) =>
    view.cache && `${count(view.cache.num_cached_tokens)}${view.prompt ? ` of ${count(numRead(view))}` : ""}`,
  prefill: (view) => took(view, "prefill"),
  sampling: ({ tokens }) => {
    const [first, last] = [tokens[0], tokens.at(-1)];
    if (!first || !last) return null;
    return `${counted(tokens.length, "token")} · ${duration(last.at - first.at)}`;
  },
  release: ({ withheld, outputChecks, releases }) => {
    if (withheld) return "withheld";
    return releases.length ? counted(outputChecks.length, "check") : null;
  },
  bill: ({ bill }) => bill && (bill.lines.length ? money(bill.total_nano, bill.currency) : "unpriced"),
};
