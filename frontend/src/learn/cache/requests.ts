/** The visitors of the exhibit of blocks, their prompts, and the blocks' contents at each step of a run. Pure. */
import type { SimulatedBlock, Simulation, SimulationRequest } from "../../protocol/events";
import type { Cutter, Piece } from "../../tokenizer/cutter";
import { counted } from "../../trace/format";

export const NUM_BLOCKS = 40;

const GUIDE =
  "You are a guide in a museum of clocks. Answer in one or two short sentences, as one speaks to a visitor who has time.";
const TALK = [
  ["What keeps a pendulum clock in time?", "The length of its pendulum: a longer one swings more slowly."],
  ["And what drives it?", "A weight on a cord. As it sinks it turns the wheels, until somebody pulls it up."],
  [
    "Which is the oldest one here?",
    "The tower clock in the first room. It has one hand only, for nobody counted minutes then.",
  ],
] as const;
const CATALOGUE = Array.from(
  { length: 14 },
  (_, index) =>
    `Room ${index + 1}: clocks from the years ${1300 + 40 * index} to ${1339 + 40 * index}, with their keys.`,
).join("\n");

export type Visit = "ask" | "on" | "dated" | "other" | "twice" | "long";

export const VISITS: { id: Visit; label: string }[] = [
  { id: "on", label: "Ana asks on" },
  { id: "dated", label: "Ana asks again, the date in front" },
  { id: "other", label: "Ben asks the same" },
  { id: "twice", label: "Ana wants two answers" },
  { id: "long", label: "Cleo sends a long text" },
];

interface Visitor {
  user: string;
  prompt: string[];
  answer: string;
}

/** The requests of a visit with their texts; one for each answer that the visit wants. */
function visitorsOf(visit: Visit, before: readonly Visit[]): Visitor[] {
  const turn = before.filter((each) => each === "on").length + (visit === "on" ? 1 : 0);
  const talk = (num: number) => [GUIDE, ...TALK.slice(0, num).flat(), TALK[num % TALK.length]![0]];
  const ana = (prompt: string[], nth: number): Visitor => ({
    user: "Ana",
    prompt,
    answer: TALK[nth % TALK.length]![1],
  });
  switch (visit) {
    case "ask":
      return [ana(talk(0), 0)];
    case "on":
      return [ana(talk(Math.min(turn, TALK.length - 1)), Math.min(turn, TALK.length - 1))];
    case "dated":
      return [ana(["Today is Monday.", ...talk(0)], 0)];
    case "other":
      return [{ user: "Ben", prompt: talk(0), answer: TALK[0][1] }];
    case "twice":
      return [ana([GUIDE, "Name a clock."], 0), ana([GUIDE, "Name a clock."], 1)];
    case "long":
      return [{ user: "Cleo", prompt: [CATALOGUE, "Which room has clocks from 1500?"], answer: "Room 6." }];
  }
}

export interface Asked {
  user: string;
  /** Number among this user's requests, from 1. */
  nth: number;
  /** Pieces of the prompt and of the answer. */
  pieces: Piece[];
  numPrompt: number;
}

export interface Scene {
  request: SimulationRequest;
  asked: Asked[];
}

const APART_US = 60_000_000;

export function sceneOf(visits: readonly Visit[], { cut }: Cutter): Scene {
  const asked: Asked[] = [];
  const arrivals: SimulationRequest["arrivals"] = [];
  visits.forEach((visit, index) => {
    for (const { user, prompt, answer } of visitorsOf(visit, visits.slice(0, index))) {
      const [read, written] = [prompt.flatMap((text) => cut(`${text}\n`)), cut(answer)];
      const nth = 1 + asked.filter((each) => each.user === user).length;
      asked.push({ user, nth, pieces: [...read, ...written], numPrompt: read.length });
      const ids = (pieces: Piece[]) => pieces.map(({ id }) => id);
      arrivals.push({ at_us: index * APART_US, user, prompt: ids(read), answer: ids(written), ttl: "none" });
    }
  });
  const machine = { num_blocks: NUM_BLOCKS, max_num_running: 4, token_budget: 64, mixed_budget: 48 };
  const clock = { step_us: 5000, token_us: 400 };
  return { request: { arrivals, ...machine, ...clock, has_cache: true, has_blocks: true }, asked };
}

export function nameOf({ user, nth }: Asked): string {
  return `${user} ${nth}`;
}

/** All blocks at the end of step `at`. */
export function blocksAt({ steps }: Simulation, at: number): SimulatedBlock[] {
  const blocks: SimulatedBlock[] = Array.from({ length: NUM_BLOCKS }, (_, block) => ({
    block,
    state: "free",
    num_owners: 0,
    arrival: null,
    start: 0,
    num_tokens: 0,
  }));
  for (const step of steps.slice(0, at + 1))
    for (const changed of step.blocks) blocks[changed.block] = changed;
  return blocks;
}

/** The first step in which the last visit's request has arrived. */
export function lastArrival({ steps }: Simulation, { arrivals }: SimulationRequest): number {
  const last = arrivals.at(-1)!.at_us;
  return Math.max(
    0,
    steps.findIndex(({ at_us }) => at_us >= last),
  );
}

/** The events of a step, in words. */
export function tellStep({ steps, block_size }: Simulation, { asked }: Scene, at: number): string {
  const step = steps[at];
  if (!step) return "";
  const name = (arrival: number) => nameOf(asked[arrival]!);
  const said = step.notes.map(({ kind, arrival, num }) => {
    if (kind === "evicted")
      return `The cache evicts ${counted(num, "cached block")} to make room for ${name(arrival)}.`;
    if (kind === "preempted") return `${name(arrival)} gives up its ${counted(num, "block")} and waits.`;
    const { numPrompt } = asked[arrival]!;
    if (!num)
      return `${name(arrival)}: the cache has none of its ${counted(numPrompt, "token")}, so all are computed.`;
    const whole = Math.floor(num / block_size);
    return `${name(arrival)}: the cache has ${num} of its ${counted(numPrompt, "token")}, in ${counted(whole, "full block")}; ${numPrompt - num} are computed.`;
  });
  for (const { arrival, num_tokens, is_prefill } of step.shares)
    said.push(
      is_prefill
        ? `${name(arrival)}: ${counted(num_tokens, "prompt token")} read.`
        : `${name(arrival)} writes a token.`,
    );
  if (step.waiting.length)
    said.push(
      `${step.waiting.map(name).join(", ")} waits for a prompt that the model is reading for another request.`,
    );
  return said.join(" ");
}
