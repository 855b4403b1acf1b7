/** The timeline's keys, as Perfetto and Chrome have them. */
import type { TimelineView } from "./view.svelte";

const ZOOM = 1.6;
const STEP = 0.2;

/** False: the key is not the timeline's. */
export function press(view: TimelineView, event: KeyboardEvent, select: () => void): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const fast = event.shiftKey ? 2.5 : 1;
  const arrow = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[event.key] as -1 | 1 | undefined;
  if (arrow && (event.key === "ArrowUp" || event.key === "ArrowDown")) view.changeLane(arrow);
  else if (arrow && view.focus && !event.shiftKey) view.walkLane(arrow);
  else if (arrow) view.panByShare(arrow * STEP * fast);
  else return letter(view, event.key.toLowerCase(), fast, select);
  return true;
}

function letter(view: TimelineView, key: string, fast: number, select: () => void): boolean {
  const actions: Record<string, () => void> = {
    w: () => view.zoomBy(1 / (ZOOM * fast)),
    "+": () => view.zoomBy(1 / ZOOM),
    "=": () => view.zoomBy(1 / ZOOM),
    s: () => view.zoomBy(ZOOM * fast),
    "-": () => view.zoomBy(ZOOM),
    a: () => view.panByShare(-STEP * fast),
    d: () => view.panByShare(STEP * fast),
    f: () => view.frame(),
    "0": () => view.fly(null),
    ".": () => view.walk(1),
    ",": () => view.walk(-1),
    m: () => view.mark(),
    enter: select,
    " ": () => (view.trace.isPlaying ? view.trace.pause() : view.trace.play()),
  };
  const action = actions[key];
  if (key === "escape") return view.clear();
  action?.();
  return action !== undefined;
}

export const KEYS =
  "W and S zoom, A and D move, arrows go from span to span, full stop and comma to the next and previous event, " +
  "F frames what is focused and then the whole, M marks, Enter opens the panel, Space plays, Escape clears.";
