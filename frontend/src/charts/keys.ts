/** Keys of the desk's charts. */
import type { Binding, Row } from "../ui/keys";

export const CHART_KEYS: readonly Binding<Row>[] = [
  { keys: ["ArrowLeft"], says: "To the part before", run: ({ at, go }) => (at ? go(at - 1) : false) },
  {
    keys: ["ArrowRight"],
    says: "To the next part",
    run: ({ at, last, go }) => (at < last ? go(at + 1) : false),
  },
  { keys: ["Home"], says: "To the first part", run: ({ go }) => go(0) },
  { keys: ["End"], says: "To the last part", run: ({ last, go }) => go(last) },
];

/** A field of the map of weekdays and hours. */
interface Field {
  day: number;
  at: number;
  go: (to: { day?: number; at?: number }) => void;
}

/** Keys of the map of weekdays and hours. */
export const MAP_KEYS: readonly Binding<Field>[] = [
  { keys: ["ArrowLeft"], says: "To the hour before", run: ({ at, go }) => (at ? go({ at: at - 1 }) : false) },
  {
    keys: ["ArrowRight"],
    says: "To the next hour",
    run: ({ at, go }) => (at < 23 ? go({ at: at + 1 }) : false),
  },
  {
    keys: ["ArrowUp"],
    says: "To the weekday before",
    run: ({ day, go }) => (day ? go({ day: day - 1 }) : false),
  },
  {
    keys: ["ArrowDown"],
    says: "To the next weekday",
    run: ({ day, go }) => (day < 6 ? go({ day: day + 1 }) : false),
  },
];

/** Keys that lead away. */
interface Way {
  leave: () => void;
}

/** Keys of a button that stops a request at its second press. */
export const STOP_KEYS: readonly Binding<Way>[] = [
  { keys: ["Escape"], says: "Let the request run on", run: ({ leave }) => leave() },
];

/** Keys of the wall view. */
export const WALL_KEYS: readonly Binding<Way>[] = [
  { keys: ["Escape"], says: "Back to the live page", run: ({ leave }) => leave() },
];
