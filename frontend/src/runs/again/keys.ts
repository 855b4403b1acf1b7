/** Keys of the bands into which the answers of a set of runs part. */
import type { Binding } from "../../ui/keys";

type Direction = "left" | "right" | "up" | "down";

export const FLOW_KEYS: readonly Binding<{ go: (direction: Direction) => void }>[] = [
  { keys: ["ArrowLeft"], says: "To the band that it branched from", run: ({ go }) => go("left") },
  { keys: ["ArrowRight"], says: "To the first band that follows", run: ({ go }) => go("right") },
  { keys: ["ArrowUp"], says: "To the band above that branched at the same token", run: ({ go }) => go("up") },
  {
    keys: ["ArrowDown"],
    says: "To the band below that branched at the same token",
    run: ({ go }) => go("down"),
  },
];
