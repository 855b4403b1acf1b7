/** A batch and its lines in words. Pure. */
import type { BatchItem, BatchLine } from "../../protocol/api";
import { count, counted, money } from "../../trace/format";

/** As the server has it. */
export const MOST_BYTES = 32 << 20;

export interface Progress {
  total: number;
  done: number;
  /** Ended without an answer. */
  failed: number;
  running: number;
  waiting: number;
}

export function progressOf({ counts }: Pick<BatchItem, "counts">): Progress {
  const failed = counts.errored + counts.canceled + counts.expired;
  const total = counts.succeeded + failed + counts.open + counts.waiting;
  return { total, done: counts.succeeded, failed, running: counts.open, waiting: counts.waiting };
}

export function progressText(batch: Pick<BatchItem, "counts">): string {
  const { total, done, failed, running, waiting } = progressOf(batch);
  if (!total) return "no lines";
  const parts = [
    `${count(done)} of ${counted(total, "line")} done`,
    failed ? `${count(failed)} failed` : "",
    running ? `${count(running)} running` : "",
    waiting ? `${count(waiting)} waiting` : "",
  ];
  return parts.filter(Boolean).join(", ");
}

const STATES: Record<BatchItem["status"], string> = {
  validating: "its file is read",
  in_progress: "running",
  finalizing: "ending",
  completed: "completed",
  cancelling: "being cancelled",
  cancelled: "cancelled",
  failed: "refused",
  expired: "expired",
};

export const isOver = ({ ended_at }: Pick<BatchItem, "ended_at">) => ended_at !== null;

/** The state; a batch whose lines all wait for the engine says so. */
export function stateText(batch: BatchItem): string {
  if (batch.status !== "in_progress" || batch.counts.open) return STATES[batch.status];
  if (!batch.counts.waiting) return STATES.finalizing;
  if (batch.waits_until) return "waiting for a limit";
  return "waiting until the engine is idle";
}

export function costText({ costs }: Pick<BatchItem, "costs">): string {
  return costs.map(({ currency, nano }) => money(nano, currency)).join(" + ") || "nothing billed";
}

export function begunBy({ is_of_sign_in, key }: Pick<BatchItem, "is_of_sign_in" | "key">): string {
  if (is_of_sign_in) return "this page";
  return key === null ? "a key that was deleted" : `the key ${key}`;
}

const LINE_STATES: Record<BatchLine["status"], string> = {
  waiting: "waiting",
  open: "running",
  succeeded: "done",
  errored: "failed",
  canceled: "cancelled",
  expired: "expired",
};

export const lineState = ({ status }: Pick<BatchLine, "status">) => LINE_STATES[status];

export const lineCost = ({ cost_nano, currency }: Pick<BatchLine, "cost_nano" | "currency">) =>
  cost_nano === null ? "–" : currency ? money(cost_nano, currency) : "unpriced";

/** Why a text of this size is not sent; empty: it is. */
export function sizeProblem(numBytes: number): string {
  const mebi = (bytes: number) =>
    `${(bytes / (1 << 20)).toLocaleString("en-US", { maximumFractionDigits: 1 })} MiB`;
  return numBytes <= MOST_BYTES
    ? ""
    : `The file has ${mebi(numBytes)}; ${mebi(MOST_BYTES)} is the most. Make several.`;
}

/** Three lines to begin with. */
export function exampleOf(model: string): string {
  const questions = ["Name a colour.", "Name an animal.", "Name a city."];
  return questions
    .map((content, index) =>
      JSON.stringify({
        custom_id: `question-${index + 1}`,
        method: "POST",
        url: "/v1/chat/completions",
        body: { model, max_tokens: 16, messages: [{ role: "user", content }] },
      }),
    )
    .join("\n");
}

/** First indices of the hundreds of lines that may have changed since: those that run, and the next that waits. */
export function staleFrom(lines: readonly BatchLine[], size = 100): number[] {
  const open = lines.filter(({ status }) => status === "open");
  const next = lines.find(({ status }) => status === "waiting");
  const changed = [...open, ...(next ? [next] : [])].map(({ index }) => index - (index % size));
  return [...new Set([0, ...changed])].sort((a, b) => a - b);
}
