/** The journey of a request as scenes: the scene of each event, and each scene's one sentence. */
import { type AnyEvent, type SafetyChecked, SHOWN } from "../../protocol/events";
import type { StageId } from "../stages";
import type { NumberedEvent, TraceView } from "../view";

export interface Scene {
  id: SceneId;
  title: string;
  /** The stage whose hue it has, and whose panel tells more. */
  stage: StageId;
}

export const SCENES = [
  { id: "gateway", title: "Gateway", stage: "gateway" },
  { id: "context", title: "Context", stage: "context" },
  { id: "tokens", title: "Tokens", stage: "tokens" },
  { id: "safety", title: "Safety", stage: "safety" },
  { id: "queue", title: "Queue", stage: "queue" },
  { id: "cache", title: "Cache", stage: "prefill" },
  { id: "prefill", title: "Prefill", stage: "prefill" },
  { id: "sampling", title: "Sampling", stage: "sampling" },
  { id: "release", title: "Release", stage: "release" },
  { id: "bill", title: "Bill", stage: "bill" },
] as const satisfies { id: string; title: string; stage: StageId }[];

export type SceneId = (typeof SCENES)[number]["id"];

export const sceneIndex = (id: SceneId): number => SCENES.findIndex((scene) => scene.id === id);

const SCENE_OF_FAILURE: Record<string, SceneId> = {
  gateway: "gateway",
  safety: "safety",
  context: "context",
  prompt: "tokens",
  settle: "bill",
};

/** The scene of an event; null: it is no step of the journey, and the scene before goes on. */
export function sceneOf(event: AnyEvent, hasTokens: boolean): SceneId | null {
  // A fork's inherited answer is checked before anything is computed.
  if (event.type === "safety.checked") return event.layer === "output" && hasTokens ? "release" : "safety";
  if (event.type === "request.failed") return SCENE_OF_FAILURE[event.stage] ?? null;
  // A prompt that is computed again after a preemption is no reading of the prompt.
  if (hasTokens && !isOfAnswer(event)) return null;
  return SHOWN[event.type]?.scene ?? null;
}

const isOfAnswer = ({ type }: AnyEvent) =>
  ["token.sampled", "text.released", "text.withheld", "bill.posted"].includes(type);

/** The newest event that is a step of the journey, and its scene. */
export function latestStep(view: TraceView): { scene: SceneId; entry: NumberedEvent } | null {
  for (let index = view.events.length - 1; index >= 0; index--) {
    const entry = view.events[index]!;
    const scene = sceneOf(entry.event, view.tokens.length > 0);
    if (scene) return { scene, entry };
  }
  return null;
}

export const sceneAt = (view: TraceView): SceneId => latestStep(view)?.scene ?? "gateway";

/** True when the view is at a step of the journey itself: silent events after it are not shown moving. */
export function isAtStep(view: TraceView): boolean {
  return latestStep(view)?.entry === view.events.at(-1);
}

/** The check before anything is computed: of the message, or of the answer that a fork goes on from. */
export function checkAtGateway({ inputCheck, outputChecks, tokens }: TraceView): SafetyChecked | null {
  const first = outputChecks[0];
  return inputCheck ?? (first && !(tokens[0] && tokens[0].at <= first.at) ? first : null);
}

/** Tokens of the answer whose text was let through. */
export const numReleased = ({ releases }: TraceView): number => releases.at(-1)?.num_tokens ?? 0;

/** Chunks of the prompt's own reading, without a preemption's recomputation. */
export function readings({ prefill, tokens }: TraceView) {
  return prefill.filter((chunk) => !tokens[0] || chunk.at <= tokens[0].at);
}
