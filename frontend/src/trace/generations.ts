/** The generations of a request: one for each time that the model is asked, each with attempts. */
import type {
  AgentFinished,
  AgentStarted,
  AnyEvent,
  BatchComposed,
  CacheEvicted,
  CacheLookedUp,
  CacheStored,
  ContextAssembled,
  ContextCompared,
  GenerationFinished,
  GenerationForked,
  GenerationInterrupted,
  GenerationPreempted,
  GenerationQueued,
  GenerationStarted,
  GrammarMasked,
  PrefillAdvanced,
  PromptTokenized,
  SafetyChecked,
  TextReleased,
  ThinkingEnded,
  TextWithheld,
  TokenSampled,
  ToolApprovalAsked,
  ToolApproved,
  ToolCalled,
  ToolDeclined,
  ToolFinished,
} from "../protocol/events";
import { enter, type Drafts } from "./drafts";

export interface Attempt {
  /** Attempts count on through the request's generations. */
  number: number;
  /** Null: its engine did not begin. */
  worker: string | null;
  /** Null: it runs, or no event tells how it ended. */
  end: "finished" | "lost" | "stopped" | null;
}

export interface Generation {
  /** From 0. */
  generationNumber: number;
  attempts: Attempt[];
  context: ContextAssembled | null;
  prompt: PromptTokenized | null;
  /** The request's first prompt beside that of the turn before; null for later generations. */
  compared: ContextCompared | null;
  /** The part of another answer that this one took over, before the first token sampled here. */
  forked: GenerationForked | null;
  queued: GenerationQueued | null;
  started: GenerationStarted | null;
  cache: CacheLookedUp | null;
  stored: CacheStored[];
  evicted: CacheEvicted[];
  /** Each time that it was said how many are in front. */
  waits: GenerationQueued[];
  preemptions: GenerationPreempted[];
  /** Ends of attempts before the answer's. */
  interruptions: GenerationInterrupted[];
  batches: BatchComposed[];
  prefill: PrefillAdvanced[];
  tokens: TokenSampled[];
  drafts: Drafts;
  masks: GrammarMasked[];
  outputChecks: SafetyChecked[];
  /** The answer began with the model's own refusal; null: no such opening was recognised. */
  refusal: SafetyChecked | null;
  /** What the model thought before its answer. */
  thinking: string;
  /** Tokens of the thinking, those of its tags included. They stand before the answer's. */
  numThinking: number;
  /** The end of the thinking; null: it goes on, or there was none. */
  thinkingEnded: ThinkingEnded | null;
  /** When the user asked for the answer; null: not at all. */
  answerAskedAt: number | null;
  releases: TextReleased[];
  withheld: TextWithheld | null;
  text: string;
  /** Questions about calls that change something, and what the user decided. */
  approvals: ToolApprovalAsked[];
  decisions: (ToolApproved | ToolDeclined)[];
  toolCalls: ToolCalled[];
  toolResults: ToolFinished[];
  /** The agents that its calls started, and their ends. */
  agents: AgentStarted[];
  agentEnds: AgentFinished[];
  /** Its end. */
  generation: GenerationFinished | null;
}

/** An event of one generation; all others are of the whole request. */
export type GenerationEvent = Extract<AnyEvent, { generation: number }>;

export const isOfGeneration = (event: AnyEvent): event is GenerationEvent => "generation" in event;

export function emptyGeneration(number: number): Generation {
  return {
    generationNumber: number,
    attempts: [],
    context: null,
    prompt: null,
    compared: null,
    forked: null,
    queued: null,
    started: null,
    cache: null,
    stored: [],
    evicted: [],
    waits: [],
    preemptions: [],
    interruptions: [],
    batches: [],
    prefill: [],
    tokens: [],
    drafts: { guesses: new Map(), passes: new Map() },
    masks: [],
    outputChecks: [],
    refusal: null,
    thinking: "",
    numThinking: 0,
    thinkingEnded: null,
    answerAskedAt: null,
    releases: [],
    withheld: null,
    text: "",
    approvals: [],
    decisions: [],
    toolCalls: [],
    toolResults: [],
    agents: [],
    agentEnds: [],
    generation: null,
  };
}

/** The generation after one more of its events. Its lists are extended in place, as `fold` says. */
export function foldGeneration(own: Generation, event: GenerationEvent): Generation {
  switch (event.type) {
    case "safety.checked":
      if (event.layer === "refusal") return { ...own, refusal: event };
      own.outputChecks.push(event);
      return own;
    case "context.assembled":
      return { ...own, context: event };
    case "prompt.tokenized":
      return { ...own, prompt: event };
    case "generation.queued":
      own.waits.push(event);
      // Again and again while it waits: the first says since when, the last how many are in front.
      return attempted({ ...own, queued: { ...event, at: own.queued?.at ?? event.at } }, event.attempt);
    case "generation.forked":
      return { ...own, forked: event, text: own.text + event.text, thinking: own.thinking + event.thinking };
    case "generation.started":
      // Started again after a worker was lost: the times before the first token are the first attempt's.
      return attempted({ ...own, started: own.started ?? event }, event.attempt, { worker: event.worker });
    case "generation.interrupted":
      own.interruptions.push(event);
      return attempted(own, event.attempt, { end: event.cause });
    case "generation.resumed":
      return attempted(own, event.attempt);
    case "generation.finished": {
      const last = own.attempts.at(-1);
      const next = { ...own, generation: event };
      return last ? attempted(next, last.number, { end: "finished" }) : next;
    }
    case "cache.looked_up":
      // Looked up again after a preemption: the first look-up says what the prompt was spared.
      return { ...own, cache: own.cache ?? event };
    case "cache.stored":
      own.stored.push(event);
      return own;
    case "cache.evicted":
      own.evicted.push(event);
      return own;
    case "generation.preempted":
      own.preemptions.push(event);
      return own;
    case "batch.composed":
      own.batches.push(event);
      return own;
    case "tool.approval_asked":
      own.approvals.push(event);
      return own;
    case "tool.approved":
    case "tool.declined":
      own.decisions.push(event);
      return own;
    case "tool.called":
      own.toolCalls.push(event);
      return own;
    case "tool.finished":
      own.toolResults.push(event);
      return own;
    case "agent.started":
      own.agents.push(event);
      return own;
    case "agent.finished":
      own.agentEnds.push(event);
      return own;
    case "prefill.advanced":
      own.prefill.push(event);
      return own;
    case "token.sampled":
      own.tokens.push(event);
      return own;
    case "draft.verified":
      enter(own.drafts, event);
      return own;
    case "grammar.masked":
      own.masks.push(event);
      return own;
    case "thinking.released":
      return { ...own, thinking: own.thinking + event.text, numThinking: event.num_tokens };
    case "thinking.ended":
      return { ...own, thinkingEnded: event };
    case "thinking.answer_asked":
      return { ...own, answerAskedAt: event.at };
    case "text.released":
      own.releases.push(event);
      return { ...own, text: own.text + event.text };
    case "text.withheld":
      return { ...own, withheld: event, text: `${own.text}\n\n${event.replacement}` };
    default:
      return own;
  }
}

/** The generation with what is known of an attempt. */
function attempted(own: Generation, number: number, known: Partial<Attempt> = {}): Generation {
  const before = own.attempts.find((each) => each.number === number);
  const attempt = { number, worker: null, end: null, ...before, ...known };
  const attempts = before
    ? own.attempts.map((each) => (each === before ? attempt : each))
    : [...own.attempts, attempt];
  return { ...own, attempts };
}
