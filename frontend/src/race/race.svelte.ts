/** One message sent once under two settings: both answers as they come. */
import type { SamplingParams } from "../protocol/events";
import { RequestTrace } from "../state/request/request-trace.svelte";
import { divergence, type Divergence } from "../trace/compare/divergence";
import { isOver } from "../trace/view";
import { api } from "../transport/api";
import type { Socket } from "../transport/socket";
import type { Setting } from "./lanes";

export class Race {
  lanes = $state.raw<RequestTrace[]>([]);
  /** With which each lane was sent. */
  settings = $state.raw<Setting[]>([]);
  conversation = $state<string | null>(null);
  isStarting = $state(false);
  problem = $state("");
  /** Its page was left: later events are not shown. */
  private isClosed = false;

  constructor(private readonly socket: Socket) {}

  get isRunning(): boolean {
    return this.isStarting || this.lanes.some(({ whole, refusal }) => !isOver(whole) && !refusal);
  }

  /** The place at which they part; null: nowhere yet. */
  get fork(): Divergence | null {
    const [a, b] = this.lanes;
    return a && b ? divergence(a.whole, b.whole, isOver(a.whole) && isOver(b.whole)) : null;
  }

  async start(text: string, systemPrompt: string, params: SamplingParams[]): Promise<void> {
    if (this.isRunning) return;
    this.clear();
    this.isStarting = true;
    this.problem = "";
    try {
      const { id } = await api.createConversation({ system_prompt: systemPrompt });
      const sent = await api.send(
        id,
        { text, parent_id: null, params_each: params, client: {} },
        crypto.randomUUID(),
      );
      if (this.isClosed) return;
      this.conversation = id;
      this.settings = params;
      this.lanes = [sent.assistant_message, ...sent.siblings].map(({ request_id }) => {
        const trace = new RequestTrace(request_id!);
        trace.open(this.socket);
        return trace;
      });
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    } finally {
      this.isStarting = false;
    }
  }

  async stop(): Promise<void> {
    const running = this.lanes.filter(({ whole }) => !isOver(whole));
    await Promise.allSettled(running.map(({ requestId }) => api.cancel(requestId)));
  }

  close(): void {
    this.isClosed = true;
    this.clear();
  }

  private clear(): void {
    for (const lane of this.lanes) lane.close();
    this.lanes = [];
    this.settings = [];
  }
}
