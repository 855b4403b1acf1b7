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

/** A message that is on its way, or was refused. */
export interface Unsent {
  id: string;
  text: string;
  /** The message of which it is another version; null: it goes to the end. */
  editedId: string | null;
  /** Null: it is being sent. */
  refusal: Refusal | null;
}

export class Chat {
  conversation = $state<Conversation | null>(null);
  /** Messages that the server has not taken, in the order in which they were first sent. */
  unsent = $state<Unsent[]>([]);
  problem = $state<Refusal | null>(null);
  /** Whether each token of the next answers is to be chosen. */
  isStepped = $state(false);
  /** Of a conversation that has not begun. */
  systemPrompt = DEFAULT_SYSTEM_PROMPT;
  traces = $state<Record<string, RequestTrace>>({});
  onCreated: (id: string) => void = () => {};
  onStarted: () => void = () => {};
  onSettled: () => void = () => {};

  constructor(private readonly socket: Socket) {}

  get path(): Message[] {
    const { conversation } = this;
    if (!conversation) return [];
    const shown = branch(conversation.messages, conversation.leaf_id);
    const editedId = this.sending?.editedId;
    const end = editedId ? shown.findIndex((message) => message.id === editedId) : -1;
    return end < 0 ? shown : shown.slice(0, end);
  }

  get sending(): Unsent | null {
    return this.unsent.find(({ refusal }) => refusal === null) ?? null;
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

  /** What was done in another tab meanwhile; the branch that is shown goes on if it was gone on from there. */
  async refresh(): Promise<void> {
    const { conversation } = this;
    if (!conversation || this.sending) return;
    const now = await api.conversation(conversation.id).catch(() => null);
    if (!now || this.sending) return;
    const known = new Set(conversation.messages.map(({ id }) => id));
    const added = now.messages.filter(({ id }) => !known.has(id));
    conversation.title = now.title;
    conversation.messages.push(...added);
    for (const message of added) if (message.status === "streaming") this.follow(message, null);
    const isFurther = branch(now.messages, now.leaf_id).some(({ id }) => id === conversation.leaf_id);
    if (isFurther) conversation.leaf_id = now.leaf_id;
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

  /** edited: the message of which this is another version. */
  async send(
    text: string,
    asking: Asking,
    keydownAt: number,
    edited: Message | null = null,
  ): Promise<boolean> {
    const unsent = {
      id: `unsent-${Math.random().toString(36).slice(2)}`,
      text,
      editedId: edited?.id ?? null,
      refusal: null,
    };
    this.unsent.push(unsent);
    return this.deliver(this.unsent.at(-1)!, asking, keydownAt);
  }

  /** Send what was refused or lost, perhaps changed. */
  async retry(unsent: Unsent, text: string, asking: Asking, keydownAt: number): Promise<boolean> {
    unsent.text = text;
    unsent.refusal = null;
    return this.deliver(unsent, asking, keydownAt);
  }

  discard(id: string): void {
    this.unsent = this.unsent.filter((each) => each.id !== id);
  }

  private async deliver(unsent: Unsent, asking: Asking, keydownAt: number): Promise<boolean> {
    this.problem = null;
    const clock = new ClientClock(keydownAt);
    try {
      // Also where a first message was refused before.
      const isNew = !this.conversation?.messages.length;
      this.conversation ??= await api.createConversation({ ...asking, system_prompt: this.systemPrompt });
      const parent_id = this.parentOf(unsent);
      clock.sent();
      const body = { text: unsent.text, parent_id, ...this.asked(asking), client: { ...clock.timing } };
      const sent = await api.send(this.conversation.id, body);
      this.conversation.title = sent.title;
      this.conversation.messages.push(sent.user_message);
      this.discard(unsent.id);
      this.answer(sent, clock);
      if (isNew) this.onCreated(this.conversation.id);
      return true;
    } catch (error) {
      unsent.refusal = refusalOf(error);
      return false;
    }
  }

  private parentOf({ editedId }: Unsent): string | null {
    const edited = this.conversation?.messages.find(({ id }) => id === editedId);
    return edited ? edited.parent_id : (this.path.at(-1)?.id ?? null);
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
    clock.responded(started);
    this.conversation!.messages.push(started.assistant_message, ...started.siblings);
    this.conversation!.leaf_id = started.assistant_message.id;
    this.follow(started.assistant_message, clock);
    // What is not on the screen has no paint to be timed.
    for (const sibling of started.siblings) this.follow(sibling, null);
    this.onStarted();
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
