/** The exhibits, in the order of the journey's scenes. The page fetches each when it is first opened. */
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
import { narrateGateway } from "./gateway/narration";
import { narrateGuesses } from "./guessing/narration";
import { narrateLoop } from "./loop/narration";
import { narrateInjection } from "./injection/narration";
import { narratePieces } from "./merges/narration";
import { narratePrefill } from "./prefill/narration";
import { narrateRecall } from "./retrieval/narration";
import { narrateRules } from "./rules/narration";
import { narrateSafety } from "./safety/narration";
import { narrateDraws } from "./sampling/narration";
import { narrateStream } from "./streaming/narration";
import { narrateTokens } from "./tokenizer/narration";
import { narrateTools } from "./tools/narration";
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
  /** Sentence on its card. */
  line: string;
  /** Text above the exhibit. */
  about: string;
  /** Scene of the journey, which gives the exhibit its place and its hue. */
  scene: SceneId;
  load: () => Promise<{ default: Component<ExhibitProps> }>;
  slice: () => Promise<{ default: Component<SliceProps> }>;
  narrate: Narration;
}

export const EXHIBITS: ExhibitCard[] = [
  {
    id: "gateway",
    title: "Gateway",
    line: "See which requests the gateway refuses, and why.",
    about:
      "Every message reaches the server as a web request. The gateway checks its sender, its text, its settings and the free room. Each refusal has a number, a reason and a way out. This page sends real requests to this server’s own gateway.",
    scene: "gateway",
    load: () => import("./gateway/GatewayExhibit.svelte"),
    slice: () => import("./gateway/OwnGateway.svelte"),
    narrate: narrateGateway,
  },
  {
    id: "context",
    title: "Context window",
    line: "Follow a ten-turn chat: each turn sends the whole chat again.",
    about:
      "A model remembers nothing between two requests. Every turn sends the whole chat again, in one prompt. Prompt and answer together must fit into the window. Below, this server’s own assembler packs a chat of ten turns.",
    scene: "context",
    load: () => import("./context/ContextExhibit.svelte"),
    slice: () => import("./context/OwnWindow.svelte"),
    narrate: narrateContext,
  },
  {
    id: "retrieval",
    title: "Memory and retrieval",
    line: "See which memories a question finds, and what they cost.",
    about:
      "A model keeps nothing of its user. A service can save memories and put a few into a later prompt. An embedding model turns each memory and the question into numbers, and near numbers mean near texts. Change memories and question below: the real embedding model compares them.",
    scene: "context",
    load: () => import("./retrieval/RetrievalExhibit.svelte"),
    slice: () => import("./retrieval/OwnRecall.svelte"),
    narrate: narrateRecall,
  },
  {
    id: "tokenizer",
    title: "Tokenizer",
    line: "Type, and watch your text become numbers.",
    about:
      "A model reads no letters. A tokenizer cuts text into pieces from a fixed list, and the model sees only each piece’s number. The list joins letters that often stand together. Common words are one piece, and rare words are many.",
    scene: "tokens",
    load: () => import("./tokenizer/TokenizerExhibit.svelte"),
    slice: () => import("./tokenizer/OwnTokens.svelte"),
    narrate: narrateTokens,
  },
  {
    id: "merges",
    title: "Bytes to merges",
    line: "See a tokenizer learn its list, one pair at a time.",
    about:
      "A tokenizer begins with 256 pieces, one for each byte. It learns by counting: the two pieces that stand together most often become one new piece, again and again. Watch a list grow from a short text. Then see the joins of the model’s own list that make up a word.",
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
      "Many people use the same rules: four characters to a token, three words to four tokens. These rules come from English prose. Here the model’s own tokenizer checks each rule on your text.",
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
      "A small classifier reads each message before the model does, and each sentence of the answer before it leaves. It gives a score for every kind of harm. A policy file sets the scores at which a text is flagged or stopped. Type a text to try the real classifier.",
    scene: "safety",
    load: () => import("./safety/SafetyExhibit.svelte"),
    slice: () => import("./safety/OwnChecks.svelte"),
    narrate: narrateSafety,
  },
  {
    id: "injection",
    title: "Injection",
    line: "Hide an order in a document, and see which layer notices.",
    about:
      "A document, a memory or the result of a tool can hold an order to the model. The safety check reads such a text before the model does, and undoes tricks with letters first. The policy then decides what the model reads. Try your own text: the real checks judge it.",
    scene: "safety",
    load: () => import("./injection/InjectionExhibit.svelte"),
    slice: () => import("./injection/OwnLayers.svelte"),
    narrate: narrateInjection,
  },
  {
    id: "batching",
    title: "Batching",
    line: "See many requests share the model at once.",
    about:
      "A step of the model reads all its weights, for one request or for many. A step for eight requests costs little more than a step for one. The scheduler gives every running answer one token per step. It fills the rest of the step with pieces of new prompts.",
    scene: "queue",
    load: () => import("./batching/BatchingExhibit.svelte"),
    slice: () => import("./batching/OwnSteps.svelte"),
    narrate: narrateBatch,
  },
  {
    id: "cache",
    title: "KV cache and paging",
    line: "See the model’s memory, block by block.",
    about:
      "A model keeps keys and values for each token that it has read. Later tokens look back at them. They lie in blocks of 16 tokens, anywhere in memory. The cache keeps a full block under a hash of all text up to its end. A request with the same beginning finds the block and need not compute it again.",
    scene: "cache",
    load: () => import("./cache/CacheExhibit.svelte"),
    slice: () => import("./cache/OwnBlocks.svelte"),
    narrate: narrateBlocks,
  },
  {
    id: "prefill",
    title: "Prefill against decode",
    line: "Reading is quick and writing is slow: see why.",
    about:
      "The whole prompt is known at the start, so a step can read hundreds of its tokens at once. Each token of an answer depends on the one before, so every token takes a step of its own. These two kinds of work have two different limits.",
    scene: "prefill",
    load: () => import("./prefill/PrefillExhibit.svelte"),
    slice: () => import("./prefill/OwnPrefill.svelte"),
    narrate: narratePrefill,
  },
  {
    id: "attention",
    title: "Attention and positions",
    line: "See where “it” looks and which words are near “cat”.",
    about:
      "The model turns each token into a list of numbers and marks it with its place. The token then looks back at the tokens before it, layer by layer. Here the real model computes all of this on your own sentences. It is a small model, and the page shows its mistakes too.",
    scene: "prefill",
    load: () => import("./attention/AttentionExhibit.svelte"),
    slice: () => import("./attention/OwnLooks.svelte"),
    narrate: narrateLooks,
  },
  {
    id: "loop",
    title: "One token at a time",
    line: "Compare the work for each token with and without a KV cache.",
    about:
      "A model writes one token, adds it to the text, and continues with the longer text. Many texts say that it computes everything again for every token. With a KV cache it does not: only the new token goes through the model. The cache keeps the keys and values of the others.",
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
      "One step for five tokens costs far less than five steps for one. So the engine guesses ahead. When the last few tokens appeared earlier in the text, it guesses the tokens that followed them there. The model checks all guesses in one step and keeps only its own choices. The answer does not change.",
    scene: "sampling",
    load: () => import("./guessing/GuessingExhibit.svelte"),
    slice: () => import("./guessing/OwnGuesses.svelte"),
    narrate: narrateGuesses,
  },
  {
    id: "sampling",
    title: "Sampling",
    line: "Change the settings and see where the same draw lands.",
    about:
      "For every place, the model gives each token of its list a number. Temperature sharpens or flattens these numbers. Top‑k, top‑p and min‑p remove the least likely tokens. One random number u between 0 and 1 picks from the rest. The numbers below are recorded: change a setting and the same u picks again.",
    scene: "sampling",
    load: () => import("./sampling/SamplingExhibit.svelte"),
    slice: () => import("./sampling/OwnDraw.svelte"),
    narrate: narrateDraws,
  },
  {
    id: "tools",
    title: "Tools",
    line: "Watch a call, the pause for its result, and the answer go on.",
    about:
      "A model computes nothing exactly and knows no time of day. It can write a call, and the server runs the tool. The answer pauses meanwhile. Then the model is asked again with the result, and the cache still has all that came before. Below, a real request goes through this loop.",
    scene: "sampling",
    load: () => import("./tools/ToolsExhibit.svelte"),
    slice: () => import("./tools/OwnRounds.svelte"),
    narrate: narrateTools,
  },
  {
    id: "streaming",
    title: "Streaming and UTF‑8",
    line: "See bytes wait for the rest of their character.",
    about:
      "The server sends an answer while the model writes it. A token is a run of bytes, and a character may need up to four. The server waits for a character’s last byte, because half a character cannot be shown. Type something and let it arrive token by token.",
    scene: "release",
    load: () => import("./streaming/StreamingExhibit.svelte"),
    slice: () => import("./streaming/OwnFrames.svelte"),
    narrate: narrateStream,
  },
  {
    id: "economics",
    title: "Prompt-cache economics",
    line: "See when keeping a prompt in the cache pays.",
    about:
      "Reading a prompt’s beginning from the cache costs far less than computing it. The cache keeps a prompt until it needs the room. A promised time costs extra when the prompt is written. The promise pays when the same beginning comes again often and soon.",
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
