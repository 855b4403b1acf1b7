/** The exhibits, in the order of the journey's scenes; each is fetched when it is first opened. */
import type { Component } from "svelte";
import type { Exhibit } from "../trace/words/terms";
import type { StageId } from "../trace/stages";
import { SCENES, type SceneId } from "../trace/journey/scenes";
import type { Session } from "../protocol/api";
import type { TraceView } from "../trace/view";
import { narrateLooks } from "./attention/narration";
import { narrateBatch } from "./batching/narration";
import { narrateBlocks } from "./cache/narration";
import { narrateContext } from "./context/narration";
import { narrateBill } from "./economics/narration";
import { narrateGate } from "./gate/narration";
import { narrateGuesses } from "./guessing/narration";
import { narrateLoop } from "./loop/narration";
import { narratePieces } from "./merges/narration";
import { narratePrefill } from "./prefill/narration";
import { narrateRules } from "./rules/narration";
import { narrateSafety } from "./safety/narration";
import { narrateDraws } from "./sampling/narration";
import { narrateStream } from "./streaming/narration";
import { narrateTokens } from "./tokenizer/narration";
import type { Narration } from "./own/reading-clock";

export interface ExhibitProps {
  session: Session;
  /** The visitor's last finished request, or the recorded example; null until it is read. */
  own: TraceView | null;
}

/** Properties of an exhibit's part on the visitor's own request. */
export interface SliceProps {
  /** The trace at the moment described. */
  view: TraceView;
  whole: TraceView;
}

export interface ExhibitCard {
  id: Exhibit;
  title: string;
  /** On its card. */
  line: string;
  /** Above the exhibit. */
  about: string;
  /** The scene of the journey: it gives the exhibit its place among the exhibits, and its hue. */
  scene: SceneId;
  load: () => Promise<{ default: Component<ExhibitProps> }>;
  slice: () => Promise<{ default: Component<SliceProps> }>;
  narrate: Narration;
}

export const EXHIBITS: ExhibitCard[] = [
  {
    id: "gate",
    title: "The gate",
    line: "Who may ask, what is refused, and how that looks on the wire.",
    about:
      "Before a message is anything to a model it is a web request. The gate asks who sends it, whether it can be read, whether its settings make sense, and whether there is room. What it refuses has a number, a reason and a way out. Below real requests are sent to this server’s own gate.",
    scene: "gateway",
    load: () => import("./gate/GateExhibit.svelte"),
    slice: () => import("./gate/OwnGate.svelte"),
    narrate: narrateGate,
  },
  {
    id: "context",
    title: "Context window",
    line: "A ten-turn chat, and what each turn sends again.",
    about:
      "A model keeps nothing between two requests. Every turn sends the whole talk anew, in one prompt that must fit into the window together with the answer. Below a chat of ten turns is packed by this server’s own assembler.",
    scene: "context",
    load: () => import("./context/ContextExhibit.svelte"),
    slice: () => import("./context/OwnWindow.svelte"),
    narrate: narrateContext,
  },
  {
    id: "tokenizer",
    title: "Tokenizer",
    line: "Type, and watch your text become numbers.",
    about:
      "A model reads no letters. A tokenizer cuts text into pieces from a fixed list, and the model sees only each piece’s number in that list. The list was made by joining what often stands together, so common words are one piece and rare ones are many.",
    scene: "tokens",
    load: () => import("./tokenizer/TokenizerExhibit.svelte"),
    slice: () => import("./tokenizer/OwnTokens.svelte"),
    narrate: narrateTokens,
  },
  {
    id: "merges",
    title: "Bytes to merges",
    line: "How a list of tokens is learnt, one pair at a time.",
    about:
      "A tokenizer begins with 256 pieces, one for each byte. It is learnt by counting: the two pieces that stand together most often become one new piece, again and again. Watch a list grow from a short text, then see which joins of the model’s own list a word goes through.",
    scene: "tokens",
    load: () => import("./merges/MergesExhibit.svelte"),
    slice: () => import("./merges/OwnPieces.svelte"),
    narrate: narratePieces,
  },
  {
    id: "rules",
    title: "Rules of thumb",
    line: "Four characters a token? Check it on your own text.",
    about:
      "Everybody counts with the same few rules: four characters to a token, three words to four tokens. They were found on English prose. Here the model’s own tokenizer checks each of them on what you type.",
    scene: "tokens",
    load: () => import("./rules/RulesExhibit.svelte"),
    slice: () => import("./rules/OwnRules.svelte"),
    narrate: narrateRules,
  },
  {
    id: "safety",
    title: "Safety layers",
    line: "The safety check reads your text before the model does, and the answer after it.",
    about:
      "A small classifier reads each message before the model does, and each sentence of the answer before it leaves. It gives a score for every kind of harm; a policy file says from which score on a text is flagged or stopped. Type, and the real one judges.",
    scene: "safety",
    load: () => import("./safety/SafetyExhibit.svelte"),
    slice: () => import("./safety/OwnChecks.svelte"),
    narrate: narrateSafety,
  },
  {
    id: "batching",
    title: "Batching",
    line: "Many requests at once, and who waits for whom.",
    about:
      "A step of the model reads all its weights, whether for one request or for many, so a step shared by eight costs little more than a step for one. The scheduler gives every running answer one token per step, and fills the rest of the step with pieces of new prompts.",
    scene: "queue",
    load: () => import("./batching/BatchingExhibit.svelte"),
    slice: () => import("./batching/OwnSteps.svelte"),
    narrate: narrateBatch,
  },
  {
    id: "cache",
    title: "KV cache and paging",
    line: "What the model remembers, block by block.",
    about:
      "For each token it has read, a model keeps keys and values, which later tokens look back at. They lie in blocks of 16 tokens, anywhere in memory. A full block is kept under a hash of all text up to its end: whoever begins with the same text finds it and need not compute it again.",
    scene: "cache",
    load: () => import("./cache/CacheExhibit.svelte"),
    slice: () => import("./cache/OwnBlocks.svelte"),
    narrate: narrateBlocks,
  },
  {
    id: "prefill",
    title: "Prefill against decode",
    line: "Why reading is quick and writing slow.",
    about:
      "A prompt is there as a whole, so a step can read hundreds of its tokens at once. An answer is not: each token depends on the one before, so every token takes a step of its own. That makes two kinds of work with two different limits.",
    scene: "prefill",
    load: () => import("./prefill/PrefillExhibit.svelte"),
    slice: () => import("./prefill/OwnPrefill.svelte"),
    narrate: narratePrefill,
  },
  {
    id: "attention",
    title: "Attention and positions",
    line: "Where “it” looks, what is near “cat”, and why order counts.",
    about:
      "Each token is turned into a list of numbers, marked with its place, and then looks back at the tokens before it, layer by layer. All of this is computed here by the real model, on your own sentences. It is a small model: where it does badly, that is shown too.",
    scene: "prefill",
    load: () => import("./attention/AttentionExhibit.svelte"),
    slice: () => import("./attention/OwnLooks.svelte"),
    narrate: narrateLooks,
  },
  {
    id: "loop",
    title: "One token at a time",
    line: "What is computed for each token, with a KV cache and without.",
    about:
      "A model writes one token, adds it to the text, and goes on with the longer text. One often reads that the whole thing is computed again for every token. Here it is not: one new token goes through the model, and what the others left behind, their keys and values, is kept.",
    scene: "sampling",
    load: () => import("./loop/LoopExhibit.svelte"),
    slice: () => import("./loop/OwnLoop.svelte"),
    narrate: narrateLoop,
  },
  {
    id: "guessing",
    title: "Guessing ahead",
    line: "Several tokens from one step, where text repeats itself.",
    about:
      "One step for five tokens costs far less than five steps for one. So the engine guesses: when the last few tokens stood in the text before, what followed them then may follow again. The model checks all guesses in one step and keeps those it would have said itself. The answer does not change.",
    scene: "sampling",
    load: () => import("./guessing/GuessingExhibit.svelte"),
    slice: () => import("./guessing/OwnGuesses.svelte"),
    narrate: narrateGuesses,
  },
  {
    id: "sampling",
    title: "Sampling",
    line: "Bend the odds, and see where the same draw lands.",
    about:
      "For every place the model gives each token of its list a number. Temperature sharpens or flattens them, top‑k, top‑p and min‑p cut the tail, and one random number u between 0 and 1 picks from what is left. Below are real recorded numbers: change a setting and the same u falls anew.",
    scene: "sampling",
    load: () => import("./sampling/SamplingExhibit.svelte"),
    slice: () => import("./sampling/OwnDraw.svelte"),
    narrate: narrateDraws,
  },
  {
    id: "streaming",
    title: "Streaming and UTF‑8",
    line: "Bytes that wait for the rest of their letter.",
    about:
      "An answer leaves as it is written. But a token is a run of bytes, and a character may need up to four: it must wait until its last byte has come, or the reader would see a hole. Type something, and let it arrive token by token.",
    scene: "release",
    load: () => import("./streaming/StreamingExhibit.svelte"),
    slice: () => import("./streaming/OwnFrames.svelte"),
    narrate: narrateStream,
  },
  {
    id: "economics",
    title: "Prompt-cache economics",
    line: "When keeping a prompt pays, and when it does not.",
    about:
      "Reading a prompt’s beginning from the cache costs far less than computing it. The cache keeps what it has until the room is needed; to be promised a time costs extra when it is written. Whether that pays depends on how often, and how soon, the same beginning comes again.",
    scene: "bill",
    load: () => import("./economics/EconomicsExhibit.svelte"),
    slice: () => import("./economics/OwnBill.svelte"),
    narrate: narrateBill,
  },
];

export function exhibitOf(id: string): ExhibitCard | null {
  return EXHIBITS.find((exhibit) => exhibit.id === id) ?? null;
}

/** The stage whose hue an exhibit has. */
export function stageOf({ scene }: ExhibitCard): StageId {
  return SCENES.find(({ id }) => id === scene)!.stage;
}
