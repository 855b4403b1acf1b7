/** One conversation on the screen: its messages, the request under way, and what a person may do. */
import { ClientClock } from "../chat/client-timing";
import { refusalOf, type Refusal } from "../chat/settings";
import { branch, newestLeaf, siblings } from "../chat/tree";
import { outcomeOf } from "../trace/outcome";
import {
  api,
  type Asking,
  type Conversation,
  type ForkPlace,
  type Message,
  type Started,
} from "../transport/api";
import type { Socket } from "../transport/socket";
import { RequestTrace } from "./request-trace.svelte";

/** Of a new conversation; the settings show it. Without one, a small model wanders off more often than not. */
export const DEFAULT_SYSTEM_PROMPT = "Answer briefly and to the point.";

export class Chat {
  conversation = $state<Conversation | null>(null);
  /** A message that was sent but not yet accepted, or refused. */
  pending = $state<{ text: string; parentId: string | null; refusal: Refusal | null } | null>(null);
  problem = $state<Refusal | null>(null);
  /** Whether each token of the next answers is to be chosen. */
  isStepped = $state(false);
  /** Of a conversation that has not begun. */
  systemPrompt = DEFAULT_SYSTEM_PROMPT;
  traces = $state<Record<string, RequestTrace>>({});
  onCreated: (id: string) => void = () => {};
  onSettled: () => void = () => {};

  constructor(private readonly socket: Socket) {}

  get path(): Message[] {
    const { conversation } = this;
    if (!conversation) return [];
    const shown = branch(conversation.messages, conversation.leaf_id);
    if (!this.pending) return shown;
    const end = shown.findIndex((message) => message.id === this.pending!.parentId);
    return shown.slice(0, end + 1);
  }

  get running(): RequestTrace | null {
    const last = this.path.at(-1);
    const trace = last?.request_id ? this.traces[last.request_id] : undefined;
    return trace && last!.status === "streaming" && !trace.isOver ? trace : null;
  }

  /** The answer that is shown and those beside it, as far as they are being written. */
  get writing(): Message[] {
    const last = this.path.at(-1);
    if (last?.role !== "assistant") return [];
    return this.siblingsOf(last).filter((message) => message.status === "streaming");
  }

  async open(id: string): Promise<void> {
    try {
      this.conversation = await api.conversation(id);
      for (const message of this.conversation.messages)
        if (message.status === "streaming") this.follow(message, null);
    } catch (error) {
      this.problem = refusalOf(error);
    }
  }

  /** The trace of an answer, opened when somebody looks at it. */
  traceOf(message: Message): RequestTrace | null {
    if (!message.request_id) return null;
    if (!this.traces[message.request_id]) this.follow(message, null);
    return this.traces[message.request_id]!;
  }

  /** Of several answers nobody chooses the tokens at once. */
  private asked(asking: Asking): Asking & { is_stepped?: boolean } {
    return this.isStepped ? { ...asking, n: 1, is_stepped: true } : asking;
  }

  async send(text: string, parentId: string | null, asking: Asking, keydownAt: number): Promise<boolean> {
    this.pending = { text, parentId, refusal: null };
    this.problem = null;
    const clock = new ClientClock(keydownAt);
    try {
      // Also where a first message was refused before.
      const isNew = !this.conversation?.messages.length;
      this.conversation ??= await api.createConversation({ ...asking, system_prompt: this.systemPrompt });
      clock.sent();
      const body = { text, parent_id: parentId, ...this.asked(asking), client: { ...clock.timing } };
      const sent = await api.send(this.conversation.id, body);
      this.conversation.title = sent.title;
      this.conversation.messages.push(sent.user_message);
      this.answer(sent, clock);
      if (isNew) this.onCreated(this.conversation.id);
      return true;
    } catch (error) {
      this.pending = { text, parentId, refusal: refusalOf(error) };
      return false;
    }
  }

  /** Send again what was refused or lost. */
  async retry(asking: Asking, keydownAt: number): Promise<boolean> {
    const { pending } = this;
    return pending ? this.send(pending.text, pending.parentId, asking, keydownAt) : false;
  }

  /** Settings hold from the next message on. */
  async configure(asking: Asking, systemPrompt: string): Promise<void> {
    this.systemPrompt = systemPrompt;
    if (!this.conversation) return;
    const change = { ...asking, system_prompt: systemPrompt };
    this.problem = null;
    await api.changeConversation(this.conversation.id, change).catch((error: unknown) => {
      const { message, setting } = refusalOf(error);
      this.problem = { message: `The settings were not kept: ${message}`, setting };
    });
  }

  async regenerate(message: Message, asking: Asking, keydownAt: number): Promise<void> {
    const clock = new ClientClock(keydownAt);
    this.problem = null;
    clock.sent();
    try {
      this.answer(
        await api.regenerate(message.id, { ...this.asked(asking), client: { ...clock.timing } }),
        clock,
      );
    } catch (error) {
      this.problem = refusalOf(error);
    }
  }

  /** Go on from a place in an answer, as a new branch beside it; null: it has begun. */
  async fork(requestId: string, place: ForkPlace, keydownAt: number): Promise<Refusal | null> {
    const clock = new ClientClock(keydownAt);
    clock.sent();
    try {
      this.answer(
        await api.fork(requestId, { ...place, is_stepped: this.isStepped, client: { ...clock.timing } }),
        clock,
      );
      return null;
    } catch (error) {
      return refusalOf(error);
    }
  }

  private answer(started: Started, clock: ClientClock): void {
    clock.responded(started.received_unix_us, started.responded_unix_us);
    this.pending = null;
    this.conversation!.messages.push(started.assistant_message, ...started.siblings);
    this.conversation!.leaf_id = started.assistant_message.id;
    this.follow(started.assistant_message, clock);
    // What is not on the screen has no paint to be timed.
    for (const sibling of started.siblings) this.follow(sibling, null);
  }

  private follow(message: Message, clock: ClientClock | null): void {
    const trace = new RequestTrace(message.request_id!);
    this.traces[trace.requestId] = trace;
    const id = message.id;
    let acceptedUnixUs = 0;
    trace.onEvent = (event) => {
      clock?.connected();
      if (event.type === "request.accepted") acceptedUnixUs = event.accepted_unix_us;
      clock?.heard(acceptedUnixUs + event.at);
      if (event.type === "text.released" || event.type === "text.withheld") clock?.text();
    };
    trace.onEnd = () => void this.settle(id, trace, clock);
    if (message.status === "streaming") trace.open(this.socket);
    else void trace.openSaved(this.socket);
  }

  private async settle(id: string, trace: RequestTrace, clock: ClientClock | null): Promise<void> {
    const message = this.conversation?.messages.find((each) => each.id === id);
    const { whole } = trace;
    if (message && message.status === "streaming") {
      message.text = whole.text;
      const outcome = outcomeOf(whole);
      message.status = outcome === "stopped" ? "stopped" : whole.failed ? "failed" : "done";
      message.error = whole.failed;
    }
    this.onSettled();
    if (!clock) return;
    // The last paint is known only after it has happened.
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 50)));
    const timing = clock.complete();
    trace.observe(timing);
    await api.observed(trace.requestId, timing).catch(() => {});
  }

  /** Ends all answers to the message, also those not on the screen: nobody waits for them any more. */
  async stop(): Promise<void> {
    const cancelled = this.writing.map((message) => api.cancel(message.request_id!));
    await Promise.all(cancelled).catch((error: unknown) => (this.problem = refusalOf(error)));
  }

  siblingsOf(message: Message): Message[] {
    return siblings(this.conversation?.messages ?? [], message);
  }

  async show(message: Message): Promise<void> {
    const conversation = this.conversation!;
    conversation.leaf_id = newestLeaf(conversation.messages, message);
    await api.changeConversation(conversation.id, { leaf_id: conversation.leaf_id }).catch(() => {});
  }

  close(): void {
    for (const trace of Object.values(this.traces)) trace.close();
  }
}
