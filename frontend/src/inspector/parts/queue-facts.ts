/** The names and meanings of the two waits before anything is computed. */
import type { QueueWait } from "../../trace/timing/queue-waits";
import type { TermId } from "../../trace/words/terms";

export const QUEUE_FACTS: Record<QueueWait["where"], { name: string; term: TermId }> = {
  worker: { name: "waited for a worker", term: "workerQueue" },
  engine: { name: "waited in its engine", term: "queue" },
  server: { name: "waited for the server", term: "serverQueue" },
  either: { name: "waiting", term: "workerQueue" },
};
