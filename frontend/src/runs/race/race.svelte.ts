/** One message under two settings or to two models: both answers as they come. */
import type { Message } from "../../protocol/api";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { divergence, type Divergence } from "../../trace/compare/divergence";
import { isOver } from "../../trace/view";
import { api } from "../../transport/api";
import type { Socket } from "../../transport/socket";
import type { Entry } from "./lanes";

/** Of a race: the same for each user, so that only the two settings differ. */
const FEATURES = { tools: [], memory: true, speculation: true };

export class Race {
  lanes = $state.raw<RequestTrace[]>([]);
  /** With which the lanes were sent. */
  entries = $state.raw<Entry[]>([]);
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

  async start(text: string, systemPrompt: string, entries: Entry[]): Promise<void> {
    if (this.isRunning) return;
    this.clear();
    this.isStarting = true;
    this.problem = "";
    try {
      const [first, second] = entries as [Entry, Entry];
      const isOneModel = first.model === second.model;
      const begun = { model: first.model, params: first.params, system_prompt: systemPrompt };
      const { id } = await api.createConversation({ ...begun, ...FEATURES });
      const params_each = (isOneModel ? entries : [first]).map(({ params }) => params);
      const body = { text, parent_id: null, params_each, client: {} };
      const sent = await api.send(id, body, crypto.randomUUID());
      if (this.isClosed) return;
      [this.conversation, this.entries] = [id, entries];
      this.follow([sent.assistant_message, ...sent.siblings]);
      if (!isOneModel) await this.answerAlso(id, sent.assistant_message.id, second);
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    } finally {
      this.isStarting = false;
    }
  }

  /** Have the second model answer the same message, as a branch beside the first one's answer. */
  private async answerAlso(conversation: string, answer: string, { model, params }: Entry): Promise<void> {
    await api.changeConversation(conversation, { model, params });
    const { assistant_message } = await api.regenerate(answer, { params, n: 1, client: {} });
    if (!this.isClosed) this.follow([assistant_message]);
  }

  private follow(answers: Message[]): void {
    const traces = answers.map(({ request_id }) => new RequestTrace(request_id!));
    for (const trace of traces) trace.open(this.socket);
    this.lanes = [...this.lanes, ...traces];
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
    this.entries = [];
  }
}
