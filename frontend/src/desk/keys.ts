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
