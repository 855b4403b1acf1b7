/** Experiments on the running model and on the engine's own guesses, made by the server's probe worker. */
import type {
  Guesses,
  GuessRequest,
  Loop,
  LoopRequest,
  Nearness,
  NearnessRequest,
  Order,
  OrderRequest,
  Reading,
  ReadingRequest,
} from "../protocol/events";
import type { ExperimentBody } from "../protocol/api";
import { api } from "../transport/api";
import { untilThere } from "./simulation";

export const MAX_TEXT_TOKENS = 64;
/** Told while an experiment waits. Probes run one at a time, and the first one loads the model. */
export const AT_WORK = "The model is working; the first look loads it …";

const answers = new Map<string, Promise<object>>();

/** Run an experiment, once for equal requests. Rejects with ApiError. */
export function tryOut(request: ReadingRequest): Promise<Reading>;
export function tryOut(request: NearnessRequest): Promise<Nearness>;
export function tryOut(request: OrderRequest): Promise<Order>;
export function tryOut(request: LoopRequest): Promise<Loop>;
export function tryOut(request: GuessRequest): Promise<Guesses>;
export function tryOut(request: ExperimentBody["request"]): Promise<object> {
  const key = JSON.stringify(request);
  const known = answers.get(key);
  if (known) return known;
  const asked = untilThere(() => api.experiment<object>(request));
  answers.set(key, asked);
  asked.catch(() => answers.delete(key));
  return asked;
}
