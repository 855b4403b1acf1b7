/** The agents of a request: requests of their own, each started by one call. */
import type { AgentFinished, AgentStarted } from "../protocol/events";
import { allCalls, type TraceView } from "./view";

export interface Agent {
  callId: string;
  requestId: string;
  /** What the agent was asked; empty: the call's arguments do not tell. */
  task: string;
  started: AgentStarted;
  /** Null: it works, or this request ended before it. */
  ended: AgentFinished | null;
}

/** In the order of their starts. */
export function agentsOf(view: TraceView): Agent[] {
  const calls = new Map(allCalls(view).map((call) => [call.call_id, call]));
  const ends = new Map(
    view.generations.flatMap(({ agentEnds }) => agentEnds).map((event) => [event.call_id, event]),
  );
  // A call that was lost is made again, and finds the same agent.
  const starts = new Map(
    view.generations.flatMap(({ agents }) => agents).map((event) => [event.call_id, event]),
  );
  return [...starts.values()].map((started) => ({
    callId: started.call_id,
    requestId: started.request_id,
    task: taskOf(calls.get(started.call_id)?.arguments ?? ""),
    started,
    ended: ends.get(started.call_id) ?? null,
  }));
}

function taskOf(args: string): string {
  try {
    const { task } = JSON.parse(args) as { task?: unknown };
    return typeof task === "string" ? task : "";
  } catch {
    return "";
  }
}

/** The time from a request's acceptance to its agent's, µs: the agent's own times begin there. */
export function agentOffset(view: TraceView, { started }: Agent): number {
  return view.accepted ? started.accepted_unix_us - view.accepted.accepted_unix_us : started.at;
}

export interface Total {
  nano: number;
  currency: string;
}

/** The bills of a request and of all its agents together; null: one of them is not known, or has another currency. */
export function billWithAgents(view: TraceView): Total | null {
  if (!view.bill?.lines.length) return null;
  const { currency } = view.bill;
  let nano = view.bill.total_nano;
  for (const { ended } of agentsOf(view)) {
    if (ended?.total_nano == null || (ended.total_nano && ended.currency !== currency)) return null;
    nano += ended.total_nano;
  }
  return { nano, currency };
}
