/** The exhibits, in the order in which a request passes what they show; each is fetched when it is first opened. */
import type { Component } from "svelte";
import type { Exhibit } from "../inspector/terms";
import type { StageId } from "../theme/stages";
import type { Session } from "../transport/api";
import type { TraceView } from "../trace/view";
import { tellBatch } from "./batching/tell";
import { tellBlocks } from "./cache/tell";
import { tellDraws } from "./sampling/tell";
import { tellTokens } from "./tokenizer/tell";
import type { Teller } from "./walk";

export interface ExhibitProps {
  session: Session;
  /** The visitor's last finished request, or the recorded example; null until it is read. */
  own: TraceView | null;
}

/** What an exhibit draws of the visitor's own request. */
export interface SliceProps {
  /** The moment that is told of. */
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
  stage: StageId;
  load: () => Promise<{ default: Component<ExhibitProps> }>;
  slice: () => Promise<{ default: Component<SliceProps> }>;
  tell: Teller;
}

export const EXHIBITS: ExhibitCard[] = [
  {
    id: "tokenizer",
    title: "Tokenizer",
    line: "Type, and watch your text become numbers.",
    about:
      "A model reads no letters. A tokenizer cuts text into pieces from a fixed list, and the model sees only each piece’s number in that list. The list was made by joining what often stands together, so common words are one piece and rare ones are many.",
    stage: "prompt",
    load: () => import("./tokenizer/TokenizerExhibit.svelte"),
    slice: () => import("./tokenizer/OwnTokens.svelte"),
    tell: tellTokens,
  },
  {
    id: "batching",
    title: "Batching",
    line: "Many requests at once, and who waits for whom.",
    about:
      "A step of the model reads all its weights, whether for one request or for many, so a step shared by eight costs little more than a step for one. The scheduler gives every running answer one token per step, and fills the rest of the step with pieces of new prompts.",
    stage: "queue",
    load: () => import("./batching/BatchingExhibit.svelte"),
    slice: () => import("./batching/OwnSteps.svelte"),
    tell: tellBatch,
  },
  {
    id: "cache",
    title: "KV cache and paging",
    line: "What the model remembers, block by block.",
    about:
      "For each token it has read, a model keeps keys and values, which later tokens look back at. They lie in blocks of 16 tokens, anywhere in memory. A full block is kept under a hash of all text up to its end: whoever begins with the same text finds it and need not compute it again.",
    stage: "prefill",
    load: () => import("./cache/CacheExhibit.svelte"),
    slice: () => import("./cache/OwnBlocks.svelte"),
    tell: tellBlocks,
  },
  {
    id: "sampling",
    title: "Sampling",
    line: "Bend the odds, and see where the same draw lands.",
    about:
      "For every place the model gives each token of its list a number. Temperature sharpens or flattens them, top‑k, top‑p and min‑p cut the tail, and one random number u between 0 and 1 picks from what is left. Below are real recorded numbers: change a setting and the same u falls anew.",
    stage: "decode",
    load: () => import("./sampling/SamplingExhibit.svelte"),
    slice: () => import("./sampling/OwnDraw.svelte"),
    tell: tellDraws,
  },
];

export function exhibitOf(id: string): ExhibitCard | null {
  return EXHIBITS.find((exhibit) => exhibit.id === id) ?? null;
}
