/** The two waits before anything is computed: until a worker is free, and then in its engine, until there is room. */
import { isOver, type TraceView } from "../view";

export interface QueueWait {
  /** Either: no worker has said yet that it has the request. */
  where: "worker" | "engine" | "server" | "either";
  /** µs since acceptance. */
  start: number;
  end: number;
  /** It goes on. */
  isOpen: boolean;
}

export const WAIT_WORDS: Record<QueueWait["where"], string> = {
  worker: "waiting for a worker",
  engine: "waiting in the engine",
  server: "waiting for the server",
  either: "waiting for the engine",
};

/** The time at which a server elsewhere began to answer; null for this worker's own engine. */
export function serverStart({ started }: TraceView): number | null {
  return started?.server ? started.at : null;
}

/** When the first step that computes it began, or a server elsewhere to answer, µs since acceptance; null: not yet. */
export function computedFrom(view: TraceView): number | null {
  const chunk = view.prefill[0];
  return serverStart(view) ?? (chunk ? chunk.at - chunk.step_us : (view.started?.at ?? null));
}

/** One after the other, without a hole; none where nothing was queued. */
export function queueWaits(view: TraceView): QueueWait[] {
  const { queued, started } = view;
  if (!queued) return [];
  const end = computedFrom(view);
  if (!started || end === null) {
    const until = Math.max(queued.at, (view.finished ?? view.failed)?.at ?? view.at);
    return [{ where: "either", start: queued.at, end: until, isOpen: !isOver(view) }];
  }
  // The admission reports the worker's time with the request, some microseconds before its first step.
  const taken = Math.max(queued.at, Math.min(started.at - started.queued_us, end));
  const inside = started.server ? "server" : "engine";
  return [
    { where: "worker" as const, start: queued.at, end: taken, isOpen: false },
    { where: inside as QueueWait["where"], start: taken, end: Math.max(taken, end), isOpen: false },
  ];
}
