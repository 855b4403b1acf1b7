/** Ten turns about bread, of our own writing, and their requests to the simulated machine. Pure. */
import type { SimulationRequest } from "../../protocol/events";
import type { PackedTurn } from "../../protocol/api";

export const SYSTEM = "You are a baker who explains things briefly and kindly, with one example at most.";

export const TALK = [
  [
    "Why does bread dough rise?",
    "Yeast eats the sugars of the flour and breathes out gas. The dough is stretchy enough to hold it, so it swells, like many small balloons glued together.",
  ],
  [
    "What makes it stretchy?",
    "Gluten: two proteins of wheat that join when flour gets wet. Kneading lines them up into sheets that hold the gas.",
  ],
  [
    "Can I knead too much?",
    "By hand hardly, you will be tired first. A machine can tear the sheets again, and then the dough turns sticky and flat.",
  ],
  [
    "How warm should the water be?",
    "As warm as your hand, about thirty degrees. Much hotter kills the yeast, colder only slows it down.",
  ],
  [
    "What does salt do?",
    "It gives taste, tightens the gluten and slows the yeast a little. Two parts to a hundred parts of flour are usual.",
  ],
  [
    "Why let it rest a second time?",
    "Shaping presses gas out. The second rest fills the loaf again, and this time the skin holds the form you gave it.",
  ],
  [
    "How do I know that it is ready?",
    "Press it with a finger. If the dent comes back slowly and not quite, bake it. If it springs back at once, wait.",
  ],
  [
    "Why put steam in the oven?",
    "A wet skin stays soft for longer, so the loaf can grow before the crust sets. Later the steam must go, or the crust stays pale.",
  ],
  [
    "And the sound when I knock on it?",
    "A baked loaf sounds hollow, because the water that damped it has left. The middle is then a little below a hundred degrees.",
  ],
  [
    "When may I cut it?",
    "When it is cool. Inside it goes on baking for a while, and cut too early the crumb is gummy.",
  ],
] as const;

const APART_US = 60_000_000;

/** The simulation of the turns, a minute apart, so that each comes after the answer to the last. */
export function requestOf(turns: readonly PackedTurn[], hasCache: boolean): SimulationRequest {
  return {
    arrivals: turns.map(({ ids, answer_ids }, index) => ({
      at_us: index * APART_US,
      user: "visitor",
      prompt: ids,
      answer: answer_ids,
      ttl: "none",
    })),
    num_blocks: 2048,
    max_num_running: 1,
    token_budget: 512,
    mixed_budget: 192,
    step_us: 5000,
    token_us: 400,
    has_cache: hasCache,
    has_blocks: false,
  };
}

const GROUPS = {
  instructions: ["system", "tools", "memory", "summary", "template", "attachment"],
  history: ["history"],
  question: ["user"],
} as const;
export type Group = keyof typeof GROUPS;

/** The prompt's tokens by purpose. */
export function grouped({ segments }: PackedTurn): Record<Group, number> {
  const sum = (kinds: readonly string[]) =>
    segments.reduce((all, { kind, num_tokens }) => all + (kinds.includes(kind) ? num_tokens : 0), 0);
  return {
    instructions: sum(GROUPS.instructions),
    history: sum(GROUPS.history),
    question: sum(GROUPS.question),
  };
}
