/** A set of runs and their answers. Polls the set while it runs, and folds a few traces at a time. */
import { SvelteMap } from "svelte/reactivity";
import { answerOf, type RunAnswer } from "../../trace/compare/runs";
import { isOver } from "../../trace/view";
import type { RerunSet, Run } from "../../protocol/api";
import { api, ApiError } from "../../transport/api";
import type { Socket } from "../../transport/socket";
import { RequestTrace } from "../request/request-trace.svelte";

/** Most requests that it follows at once; the rest of the connection's limit is left to chats. */
const MOST_FOLLOWED = 8;
const PAUSE_MS = 1500;

export class RerunState {
  set = $state.raw<RerunSet | null>(null);
  problem = $state("");
  /** The set is not there, or is not the user's. */
  isMissing = $state(false);
  /** Answers by request, since a lost run gets another request. */
  readonly answers = new SvelteMap<string, RunAnswer>();
  /** Reasons why traces cannot be read, by request. */
  readonly refusals = new SvelteMap<string, string>();
  readonly following = new SvelteMap<string, RequestTrace>();
  saved = $state.raw<RunAnswer | null>(null);
  isStopping = $state(false);

  private timer = 0;
  private isClosed = false;

  constructor(
    readonly id: string,
    private readonly socket: Socket,
  ) {}

  get isGoing(): boolean {
    return this.set?.state === "running" || this.set?.state === "stopping";
  }

  async load(): Promise<void> {
    clearTimeout(this.timer);
    try {
      this.take(await api.rerun(this.id));
      this.problem = "";
    } catch (error) {
      this.isMissing = error instanceof ApiError && error.status === 404;
      this.problem = error instanceof Error ? error.message : String(error);
    }
    if (!this.isClosed && !this.isMissing && (this.isGoing || this.problem))
      this.timer = window.setTimeout(() => void this.load(), PAUSE_MS);
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    try {
      this.take(await api.stopRerun(this.id));
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    } finally {
      this.isStopping = false;
    }
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    for (const trace of this.following.values()) trace.close();
    this.following.clear();
  }

  answerOf({ request }: Run): RunAnswer | null {
    return request ? (this.answers.get(request.id) ?? null) : null;
  }

  private take(set: RerunSet): void {
    this.set = set;
    this.followMore();
  }

  /** Follow more requests, running ones first: the reader waits for them. */
  private followMore(): void {
    const { set } = this;
    if (!set || this.isClosed) return;
    const runs = set.runs.flatMap(({ request, index, state }) =>
      request ? [{ id: request.id, index, state }] : [],
    );
    runs.sort((a, b) => Number(b.state === "running") - Number(a.state === "running") || a.index - b.index);
    if (set.request_id && !this.saved) runs.unshift({ id: set.request_id, index: -1, state: "done" });
    for (const { id, index } of runs) {
      if (this.following.size >= MOST_FOLLOWED) return;
      if (!this.answers.has(id) && !this.refusals.has(id) && !this.following.has(id)) this.follow(id, index);
    }
  }

  private follow(id: string, index: number): void {
    const trace = new RequestTrace(id);
    this.following.set(id, trace);
    const end = () => {
      if (!isOver(trace.whole)) this.refusals.set(id, trace.refusal || "The trace did not load.");
      else if (index < 0) this.saved = answerOf(trace.whole, index, id);
      else this.answers.set(id, answerOf(trace.whole, index, id));
      trace.close();
      this.following.delete(id);
      this.followMore();
      if (this.isGoing && index >= 0) void this.load();
    };
    trace.onEnd = end;
    trace.onRefused = end;
    trace.open(this.socket);
  }
}
