/** The exhibits' trace: the visitor's last answered request, or a recorded one that comes with the app. */
import type { Frame } from "../../protocol/events";
import { loadExample } from "../../example/example";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { messageOf } from "../../trace/context/reading";
import { api } from "../../transport/api";

export interface Played {
  trace: RequestTrace;
  title: string;
  /** The visitor's own request; null: the recorded example. */
  requestId: string | null;
}

interface JsonTrace {
  trace: { frames: Frame[] };
}

export async function loadLastRequest(): Promise<Played> {
  // A trace made here comes before an imported one, even a later one.
  const last = (await lastAnswered({ is_imported: "false" })) ?? (await lastAnswered({}));
  if (!last) return playExample();
  const response = await fetch(`/api/requests/${last.id}/export?format=json`);
  if (!response.ok) return playExample();
  const { trace } = (await response.json()) as JsonTrace;
  return { trace: RequestTrace.saved(trace.frames), title: last.title, requestId: last.id };
}

async function lastAnswered(filter: Record<string, string>) {
  const { requests } = await api.requests(
    new URLSearchParams({ status: "done", surface: "chat", ...filter }),
  );
  return requests.find(({ usage }) => usage !== null && usage.output > 0);
}

export async function playExample(): Promise<Played> {
  const trace = await loadExample();
  return { trace, title: messageOf(trace.whole) ?? "", requestId: null };
}
