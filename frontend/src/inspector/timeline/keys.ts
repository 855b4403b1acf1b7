/** The timeline's keys, as Perfetto and Chrome have them. */
import { type Binding, type Row } from "../../ui/keys";
import type { TimelineView } from "./view.svelte";

const ZOOM = 1.6;
const STEP = 0.2;
const FAST = 2.5;

/** The target of the keys. */
export interface Keyed {
  view: TimelineView;
  /** Open the panel of the focused span. */
  select: () => void;
  search: () => void;
}

const faster = (event: KeyboardEvent) => (event.shiftKey ? FAST : 1);

export const TIMELINE_KEYS: readonly Binding<Keyed>[] = [
  {
    keys: ["w", "=", "+"],
    says: "Zoom in; faster with Shift",
    run: ({ view }, event) => view.zoomBy(1 / (ZOOM * faster(event))),
  },
  {
    keys: ["s", "-"],
    says: "Zoom out; faster with Shift",
    run: ({ view }, event) => view.zoomBy(ZOOM * faster(event)),
  },
  {
    keys: ["a", "Shift+ArrowLeft"],
    says: "Move left; faster with Shift",
    run: ({ view }, event) => view.panByShare(-STEP * faster(event)),
  },
  {
    keys: ["d", "Shift+ArrowRight"],
    says: "Move right; faster with Shift",
    run: ({ view }, event) => view.panByShare(STEP * faster(event)),
  },
  { keys: ["ArrowLeft"], says: "To the span before in its lane", run: ({ view }) => view.walkLane(-1) },
  { keys: ["ArrowRight"], says: "To the next span in its lane", run: ({ view }) => view.walkLane(1) },
  { keys: ["ArrowUp"], says: "To the lane above", run: ({ view }) => view.changeLane(-1) },
  { keys: ["ArrowDown"], says: "To the lane below", run: ({ view }) => view.changeLane(1) },
  { keys: [","], says: "To the event before, in any lane", run: ({ view }) => view.walk(-1) },
  { keys: ["."], says: "To the next event, in any lane", run: ({ view }) => view.walk(1) },
  {
    keys: ["f"],
    says: "Zoom to the focused span; again: the whole request",
    run: ({ view }) => view.frame(),
  },
  { keys: ["0"], says: "Show the whole request", run: ({ view }) => view.fly(null) },
  { keys: ["m"], says: "Mark this moment until the next mark", run: ({ view }) => view.mark() },
  { keys: ["Shift+m"], says: "Mark this moment, and keep the mark", run: ({ view }) => view.keepMark() },
  { keys: ["/"], says: "Search spans and events", run: ({ search }) => search() },
  {
    keys: ["q"],
    says: "Show or hide the details of the focused span",
    run: ({ view }) => view.toggleDetails(),
  },
  { keys: ["Enter"], says: "Open the panel of the focused span", run: ({ select }) => select() },
  {
    keys: [" "],
    says: "Play or pause",
    run: ({ view }) => (view.trace.isPlaying ? view.trace.pause() : view.trace.play()),
  },
  { keys: ["Escape"], says: "Close what lies over the lanes", run: ({ view }) => view.clear() },
];

/** All of it in one line, for a screen reader. */

/** Read out with the timeline; the list itself stands in the sheet of keys. */
export const KEYS = "The question mark opens the list of keys.";

export const SEARCH_KEYS: readonly Binding<{ go: (direction: 1 | -1) => void; close: () => void }>[] = [
  { keys: ["Shift+Enter"], says: "To the match before", run: ({ go }) => go(-1) },
  { keys: ["Enter"], says: "To the next match", run: ({ go }) => go(1) },
  { keys: ["Escape"], says: "Close the search", run: ({ close }) => close() },
];

/** The lanes' names, which are one stop of the Tab key. */
export const LANE_KEYS: readonly Binding<Row & { enter: () => void }>[] = [
  { keys: ["ArrowUp"], says: "To the lane above", run: ({ at, go }) => go(at - 1) },
  { keys: ["ArrowDown"], says: "To the lane below", run: ({ at, go }) => go(at + 1) },
  {
    keys: ["ArrowRight"],
    says: "To the spans of the lane",
    // Above the lanes stands a name that has none.
    run: ({ at, enter }) => (at < 0 ? false : enter()),
  },
];
