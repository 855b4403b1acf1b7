/** Keys of the whole inspector, the replay's slider, of the tabs and of the panels. */
import type { Binding, Row } from "../ui/keys";

export const INSPECTOR_KEYS: readonly Binding<{ collapse: () => void }>[] = [
  { keys: ["t"], says: "Show or hide the timeline's lanes", run: ({ collapse }) => collapse() },
];

/** The lower edge of the timeline's lanes. */
export const LANES_KEYS: readonly Binding<{ grow: (steps: number) => void }>[] = [
  { keys: ["ArrowUp"], says: "Make the timeline lower", run: ({ grow }) => grow(-1) },
  { keys: ["ArrowDown"], says: "Make the timeline higher", run: ({ grow }) => grow(1) },
];

interface Steps {
  step: (direction: 1 | -1) => void;
}

export const REPLAY_KEYS: readonly Binding<Steps & { toggle: () => void }>[] = [
  { keys: ["ArrowLeft", "ArrowDown"], says: "One token back", run: ({ step }) => step(-1) },
  { keys: ["ArrowRight", "ArrowUp"], says: "One token forward", run: ({ step }) => step(1) },
  { keys: [" "], says: "Play or pause", run: ({ toggle }) => toggle() },
];

export const WALK_KEYS: readonly Binding<Steps>[] = [
  { keys: ["ArrowLeft"], says: "To the token before", run: ({ step }) => step(-1) },
  { keys: ["ArrowRight"], says: "To the next token", run: ({ step }) => step(1) },
];

/** The places at which an answer can be forked. */
interface Forks {
  /** Move to the next or previous candidate; false: none can be selected here. */
  reach: (direction: 1 | -1) => boolean | void;
  /** Go on from the candidate; false: none was selected. */
  fork: () => boolean | void;
}

export const CANDIDATE_KEYS: readonly Binding<Forks>[] = [
  { keys: ["ArrowDown"], says: "To the next candidate", run: ({ reach }) => reach(1) },
  { keys: ["ArrowUp"], says: "To the candidate before", run: ({ reach }) => reach(-1) },
  { keys: ["Enter"], says: "Go on from the candidate", run: ({ fork }) => fork() },
];

/** The tabs, which go round. */
export const TAB_KEYS: readonly Binding<Row>[] = [
  { keys: ["ArrowLeft"], says: "To the panel before", run: ({ at, last, go }) => go(at ? at - 1 : last) },
  {
    keys: ["ArrowRight"],
    says: "To the next panel",
    run: ({ at, last, go }) => go(at === last ? 0 : at + 1),
  },
  { keys: ["Home"], says: "To the first panel", run: ({ go }) => go(0) },
  { keys: ["End"], says: "To the last panel", run: ({ last, go }) => go(last) },
];

interface Story extends Steps {
  stepScene: (direction: 1 | -1) => void;
  explain: () => void;
}

export const JOURNEY_KEYS: readonly Binding<Story>[] = [
  { keys: [" "], says: "Play or pause", run: ({ explain }) => explain() },
  { keys: ["ArrowLeft"], says: "One event back", run: ({ step }) => step(-1) },
  { keys: ["ArrowRight"], says: "One event forward", run: ({ step }) => step(1) },
  { keys: ["Shift+ArrowLeft"], says: "To the scene before", run: ({ stepScene }) => stepScene(-1) },
  { keys: ["Shift+ArrowRight"], says: "To the next scene", run: ({ stepScene }) => stepScene(1) },
];

interface Heads {
  /** Move by this many layers and heads. */
  choose: (layers: number, heads: number) => void;
  leave: () => void;
}

export const HEAD_KEYS: readonly Binding<Heads>[] = [
  { keys: ["ArrowUp"], says: "To the layer before", run: ({ choose }) => choose(-1, 0) },
  { keys: ["ArrowDown"], says: "To the next layer", run: ({ choose }) => choose(1, 0) },
  { keys: ["ArrowLeft"], says: "To the head before", run: ({ choose }) => choose(0, -1) },
  { keys: ["ArrowRight"], says: "To the next head", run: ({ choose }) => choose(0, 1) },
  { keys: ["Escape"], says: "All heads together", run: ({ leave }) => leave() },
];

/** The answer's tokens. */
export const TOKEN_KEYS: readonly Binding<Row>[] = [
  { keys: ["ArrowLeft"], says: "To the token before", run: ({ at, go }) => go(at - 1) },
  { keys: ["ArrowRight"], says: "To the next token", run: ({ at, go }) => go(at + 1) },
  { keys: ["Home"], says: "To the first token", run: ({ go }) => go(0) },
  { keys: ["End"], says: "To the last token", run: ({ last, go }) => go(last) },
];

export const BLOCK_KEYS: readonly Binding<Row & { numPerRow: number }>[] = [
  { keys: ["ArrowLeft"], says: "To the block before", run: ({ at, go }) => go(at - 1) },
  { keys: ["ArrowRight"], says: "To the next block", run: ({ at, go }) => go(at + 1) },
  { keys: ["ArrowUp"], says: "To the block above", run: ({ at, numPerRow, go }) => go(at - numPerRow) },
  { keys: ["ArrowDown"], says: "To the block below", run: ({ at, numPerRow, go }) => go(at + numPerRow) },
  { keys: ["Home"], says: "To the first block", run: ({ go }) => go(0) },
  { keys: ["End"], says: "To the last block", run: ({ last, go }) => go(last) },
];

/** The engine's steps. */
export const BATCH_KEYS: readonly Binding<Row>[] = [
  { keys: ["ArrowLeft"], says: "To the step before", run: ({ at, go }) => go(at - 1) },
  { keys: ["ArrowRight"], says: "To the next step", run: ({ at, go }) => go(at + 1) },
  { keys: ["Home"], says: "To the first step", run: ({ go }) => go(0) },
  { keys: ["End"], says: "To the last step", run: ({ last, go }) => go(last) },
];
