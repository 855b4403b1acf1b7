/** The finding on a long wait for the first text, by its parts. */
import { counted, duration } from "../format";
import { CHOICE } from "../timing/intervals";
import { queueWaits } from "../timing/queue-waits";
import type { TraceView } from "../view";
import { BETWEEN, firstText, type Wait } from "../timing/waits";
import { MOST, type Finding, type FindingKind } from "./finding";

/** A long wait. From about a second on, thoughts wander (Miller 1968; Nielsen 1993). */
const LONG_WAIT_US = 1_000_000;

/** The parts of the wait by label, the longest first. The time in which a person chooses a token is no delay. */
function partsOfFirst(view: TraceView): { total: number; parts: { part: Wait; us: number }[] } | null {
  const first = firstText(view);
  if (!first) return null;
  const sums = new Map<string, { part: Wait; us: number }>();
  for (const part of first.parts) {
    if (part.label === CHOICE) continue;
    const us = (sums.get(part.label)?.us ?? 0) + part.end - part.start;
    sums.set(part.label, { part: sums.get(part.label)?.part ?? part, us });
  }
  const parts = [...sums.values()].sort((a, b) => b.us - a.us);
  return { parts, total: parts.reduce((sum, { us }) => sum + us, 0) };
}

export function firstWait(view: TraceView): Finding[] {
  const first = partsOfFirst(view);
  const [longest, second] = first?.parts ?? [];
  if (!first || !longest || first.total < LONG_WAIT_US) return [];
  const weight = longest.us / first.total;
  const at = longest.part.stage === "prefill" && view.prefill[0] ? { at: view.prefill[0].at } : {};
  const kind = KINDS[longest.part.stage ?? "browser"] ?? "wait";
  if (weight > MOST || !second)
    return [
      {
        kind,
        sentence: `The request spent most of the wait for its first text (${duration(longest.us)} of ${duration(first.total)}) ${whereSpent(view, longest.part)}.`,
        weight,
        ...at,
      },
    ];
  return [
    {
      kind: "wait",
      sentence: `The wait for the first text, ${duration(first.total)}, has no single cause. The request spent ${duration(longest.us)} ${whereSpent(view, longest.part)} and ${duration(second.us)} ${whereSpent(view, second.part)}.`,
      weight,
    },
  ];
}

const KINDS: Partial<Record<NonNullable<Wait["stage"]>, FindingKind>> = {
  queue: "wait-queue",
  prefill: "wait-prefill",
  safety: "wait-check",
  release: "wait-check",
};

function whereSpent(view: TraceView, { stage, label }: Wait): string {
  if (label === BETWEEN || stage === null) return "between stages, where the trace records nothing";
  if (stage === "queue") return queueWords(view);
  if (stage === "prefill") return readingWords(view);
  return PLACES[label] ?? `in “${label}”`;
}

const PLACES: Record<string, string> = {
  "Key press to send": "in the page, before the page sent it",
  "Network, up": "on the way to the server",
  "Gateway: sign-in, limits, records": "at the gateway, on sign-in, limits and records",
  "Hand over to the lifecycle worker": "waiting for a worker to prepare the prompt",
  "Safety check of the message": "on the safety check of the message",
  "Context assembly": "in context assembly",
  Tokenization: "in the tokenizer",
  "Safety check of the first text": "on the safety check of the first text",
  "Network and first paint": "between the server and the screen",
};

function queueWords(view: TraceView): string {
  const [worker, inside] = queueWaits(view).map((wait) => ({ ...wait, us: wait.end - wait.start }));
  if (worker && inside && worker.us < inside.us)
    return inside.where === "server"
      ? `waiting until ${view.started!.server} began to answer`
      : `in the engine's queue, until there was room${behind(view.waits.slice(1).map((wait) => wait.queue_depth))}`;
  return `in the queue for a worker${behind([view.waits[0]?.queue_depth ?? null])}`;
}

function behind(depths: (number | null)[]): string {
  const most = Math.max(0, ...depths.map((depth) => depth ?? 0));
  return most ? `, behind ${counted(most, "request")}` : "";
}

function readingWords({ started, prefill, tokens, cache }: TraceView): string {
  const chunks = prefill.filter((chunk) => !tokens[0] || chunk.at <= tokens[0].at);
  if (!chunks.length) return `waiting for the first token of ${started?.server ?? "the engine"}`;
  const num = chunks.reduce((sum, { start, end }) => sum + end - start, 0);
  const others = Math.max(0, ...chunks.map(({ num_sequences }) => (num_sequences ?? 1) - 1));
  const cached = cache?.num_cached_tokens ? "" : ", none of it from the cache";
  return `in prefill, while the model read the prompt (${counted(num, "token")}${cached}${others ? `, beside up to ${counted(others, "other request")}` : ""})`;
}
