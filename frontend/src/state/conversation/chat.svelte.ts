/** One conversation on the screen: its messages, the request under way, and the user's actions. */
import { ClientClock } from "./client-timing";
import { refusalOf, type Refusal, type WindowPolicy } from "./settings";
import { branch, newestLeaf, siblings } from "./tree";
import { outcomeOf } from "../../trace/outcome";
import type { SamplingParams } from "../../protocol/events";
import { answerText, atLastGeneration, numKept } from "../../trace/view";
import type { Conversation, MemoryNotice, Message, Model, Preview } from "../../protocol/api";
import { api, ApiError, type Asking, type ForkPlace, type Begun } from "../../transport/api";
import type { Socket } from "../../transport/socket";
import { endingOf, textSoFar } from "./answers";
import { Files, type Taken } from "./files.svelte";
import { isTaken, type Outbox, type Unsent } from "./outbox.svelte";
import { Recent } from "./recent";
import { Summaries } from "./summaries.svelte";
import { RequestTrace } from "../request/request-trace.svelte";

/** A model, and the settings of a new conversation with it. */
export type Defaults = Pick<Model, "id" | "default_params" | "default_system_prompt" | "thinks">;

/** Most traces that stay on the page, some megabytes each. Older ones are loaded again when they are needed. */
export const MOST_TRACES = 5;

export class Chat {
  conversation = $state<Conversation | null>(null);
  problem = $state<Refusal | null>(null);
  /** True when the user chooses each token of the next answers. */
  isStepped = $state(false);
  /** Id of the model of the next message. */
  model = $state("");
  /** The settings of the next message. */
  systemPrompt = $state("");
  params = $state() as SamplingParams;
  n = $state(1);
  /** Names of the server's tools that the answers may call. */
  tools = $state<string[]>([]);
  /** True when the prompts may have memories of the user. */
  memory = $state(true);
  /** True when the engine may guess tokens of the answers ahead. */
  speculation = $state(true);
  /** By message: what it did with the memories, or asks, until the user puts it away. */
  notices = $state<Record<string, MemoryNotice>>({});
  /** True when the next answers begin with a call of a tool. */
  mustCall = $state(false);
  /** The files of the next message. */
  readonly files = new Files();
  windowPolicy = $state<WindowPolicy>("drop");
  readonly summaries = new Summaries(() => this.conversation?.id ?? null);
  traces = $state<Record<string, RequestTrace>>({});
  onCreated: (id: string) => void = () => {};
  onStarted: () => void = () => {};
  onSettled: () => void = () => {};

  /** The request that the inspector shows. Its trace stays. */
  inspected: string | null = null;
  private readonly recent = new Recent();
  /** Requests whose answers are tinted and in sight. Their traces stay, too. */
  private readonly seen = new Set<string>();
  private leaving: Promise<void> | null = null;
  private isUsualTaken = false;

  /** True once the user has left the page. Later events change no page. */
  isClosed = false;
  private opening: Promise<void> | null = null;
  /** The change to another model, until the server has it. */
  choosing: Promise<unknown> | null = null;
  /** The last change of the tools, until the server has it. */
  private toolsSaved: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly socket: Socket,
    readonly outbox: Outbox,
    private readonly defaults: Defaults,
  ) {
    this.model = defaults.id;
    this.params = { ...defaults.default_params };
    this.systemPrompt = defaults.default_system_prompt;
    outbox.onTaken = () => void this.refresh();
  }

  get path(): Message[] {
    const { conversation } = this;
    if (!conversation) return [];
    const shown = branch(conversation.messages, conversation.leaf_id);
    const editedId = this.sending?.editedId;
    const end = editedId ? shown.findIndex((message) => message.id === editedId) : -1;
    return end < 0 ? shown : shown.slice(0, end);
  }

  get sending(): Unsent | null {
    return this.outbox.sending;
  }

  get running(): RequestTrace | null {
    const last = this.path.at(-1);
    const trace = last?.request_id ? this.traces[last.request_id] : undefined;
    return trace && last!.status === "streaming" && !trace.isOver ? trace : null;
  }

  /** The shown answer and its siblings, as far as they are being written. */
  get writing(): Message[] {
    const last = this.path.at(-1);
    if (last?.role !== "assistant") return [];
    return this.siblingsOf(last).filter((message) => message.status === "streaming");
  }

  /** Open a conversation; null: one that has not begun, as far as this page knows. */
  async open(id: string | null): Promise<void> {
    this.opening = id ? this.load(id) : this.beginAsUsual();
    await this.opening.catch((error: unknown) => (this.problem = refusalOf(error)));
  }

  /** Wait until the conversation and its settings are known, or could not be loaded. */
  async opened(): Promise<void> {
    await this.opening?.catch(() => {});
  }

  private async load(id: string): Promise<void> {
    this.take(await api.conversation(id));
  }

  /** Begin with the user's features of new chats. A first message fetches them where this could not. */
  private async beginAsUsual(): Promise<void> {
    await this.recover();
    if (!this.conversation) await this.takeUsual().catch(() => {});
  }

  /** Take the user's features of new chats, once. The user's choices on this page go before them. */
  private async takeUsual(): Promise<void> {
    if (this.isUsualTaken) return;
    const usual = await api.newChats();
    this.isUsualTaken = true;
    if (!this.tools.length) this.tools = usual.tools;
    this.memory &&= usual.memory;
    this.speculation &&= usual.speculation;
  }

  /** Show the conversation of a first message that the server took without this page learning of it. */
  private async recover(): Promise<void> {
    const left = this.outbox.messages.find(({ posted, refusal }) => posted && refusal);
    // A check that fails now is repeated when the user tries again.
    if (left) await this.hasArrived(left).catch(() => false);
  }

  /** Return true when the server took a message whose reply was lost; the message is then shown. */
  private async hasArrived(unsent: Unsent): Promise<boolean> {
    if (!unsent.posted) return false;
    const now = await api.conversation(unsent.posted).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    });
    if (!now) unsent.posted = null;
    if (!now || !isTaken(unsent, now.messages)) return false;
    this.outbox.remove(unsent.id);
    this.onStarted();
    const isElsewhere = this.conversation !== null && this.conversation.id !== now.id;
    if (this.isClosed || isElsewhere) return true;
    const isNew = !this.conversation?.messages.length;
    this.take(now);
    if (isNew) this.onCreated(now.id);
    return true;
  }

  /** Load the changes that another tab made meanwhile. */
  async refresh(): Promise<void> {
    const { conversation } = this;
    if (!conversation || this.sending || this.isClosed) return;
    const now = await api.conversation(conversation.id).catch(() => null);
    if (now && !this.sending) this.take(now);
  }

  /** Take over the server's conversation. The branch on the screen stays, with the messages that now follow it. */
  private take(now: Conversation): void {
    if (!this.conversation) this.begin(now);
    const conversation = this.conversation!;
    conversation.title = now.title;
    this.summaries.take(now.summaries);
    // Another tab may have chosen it; what is being chosen here is newer.
    if (!this.choosing) this.model = conversation.model = now.model;
    for (const message of this.add(now.messages))
      if (message.status === "streaming") this.follow(message, null);
    const isFurther = branch(now.messages, now.leaf_id).some(({ id }) => id === conversation.leaf_id);
    if (isFurther || !conversation.leaf_id) conversation.leaf_id = now.leaf_id;
    this.outbox.removeTaken(now.messages);
  }

  private begin(now: Conversation): void {
    this.conversation = { ...now, messages: [] };
    this.params = { ...this.defaults.default_params, ...now.params };
    this.n = now.n;
    this.systemPrompt = now.system_prompt;
    this.tools = [...now.tools];
    this.memory = now.memory;
    this.speculation = now.speculation;
    this.windowPolicy = now.window_policy;
  }

  /** Add the messages that were not known, and return them. */
  private add(messages: Message[]): Message[] {
    const known = new Set(this.conversation!.messages.map(({ id }) => id));
    const added = messages.filter(({ id }) => !known.has(id));
    this.conversation!.messages.push(...added);
    return added;
  }

  /** The trace of an answer, opened when it is first shown. */
  traceOf(message: Message): RequestTrace | null {
    if (!message.request_id) return null;
    if (!this.traces[message.request_id]) this.follow(message, null);
    this.recent.touch(message.request_id);
    return this.traces[message.request_id] ?? null;
  }

  /** Note that a tinted answer came into sight, or left it. */
  see(message: Message, isInSight: boolean): void {
    if (isInSight) {
      this.seen.add(message.request_id!);
      this.traceOf(message);
    } else if (this.seen.delete(message.request_id!)) this.letGoSoon();
  }

  /** Drop surplus traces once, after all answers that leave the sight together. */
  private letGoSoon(): void {
    this.leaving ??= Promise.resolve().then(() => {
      this.leaving = null;
      return this.letGo();
    });
  }

  /** Wait until the server has the chosen model and tools. */
  private async settingsSaved(): Promise<void> {
    await this.choosing;
    await this.toolsSaved.catch(() => {});
  }

  get asking(): Asking {
    return { params: $state.snapshot(this.params), n: this.n };
  }

  /** Step mode asks for one answer: the user cannot choose the tokens of several at once. */
  private get asked(): Asking & { is_stepped?: boolean; must_call?: boolean } {
    const called = this.mustCall && this.tools.length ? { must_call: true } : {};
    return this.isStepped
      ? { ...this.asking, ...called, n: 1, is_stepped: true }
      : { ...this.asking, ...called };
  }

  /** Send a message. edited: the message that it replaces; own: settings for this message alone. */
  async send(
    text: string,
    keydownAt: number,
    edited: Message | null = null,
    own: Partial<SamplingParams> | null = null,
  ): Promise<boolean> {
    return this.deliver(this.outbox.add(text, edited?.id ?? null, own, this.taken(edited)), keydownAt);
  }

  /** A new version of a message carries the files of the old one; another message takes those that wait. */
  private taken(edited: Message | null): Taken {
    const attachments = edited?.files.map(({ id }) => id) ?? [];
    return edited === null ? this.files.take() : attachments.length ? { attachments } : {};
  }

  /** Send a refused or lost message again, perhaps changed. */
  async retry(unsent: Unsent, text: string, keydownAt: number): Promise<boolean> {
    this.outbox.again(unsent, text);
    return this.deliver(unsent, keydownAt);
  }

  private async deliver(unsent: Unsent, keydownAt: number): Promise<boolean> {
    this.problem = null;
    try {
      // The conversation and its settings are known only once it is open.
      await this.opening;
      if (!(await this.hasArrived(unsent))) await this.post(unsent, new ClientClock(keydownAt));
      return true;
    } catch (error) {
      const isReused = error instanceof ApiError && error.problem.code === "key_reused";
      // The message arrived after the check above.
      if (isReused && (await this.hasArrived(unsent).catch(() => false))) return true;
      const isCertain = error instanceof ApiError && error.status >= 400 && error.status < 500 && !isReused;
      this.outbox.refuse(unsent, refusalOf(error), isCertain);
      return false;
    }
  }

  private async post(unsent: Unsent, clock: ClientClock): Promise<void> {
    // A conversation whose first message was refused is new as well.
    const isNew = !this.conversation?.messages.length;
    await this.settingsSaved();
    this.conversation ??= await this.create();
    const { id } = this.conversation;
    this.outbox.post(unsent, id);
    clock.sent();
    const params = { ...this.asked.params, ...unsent.own };
    const body = {
      text: unsent.text,
      parent_id: this.parentOf(unsent),
      ...this.asked,
      params,
      ...unsent.taken,
    };
    const sent = await api.send(id, { ...body, client: { ...clock.timing } }, unsent.id);
    this.outbox.remove(unsent.id);
    if (this.isClosed) this.outbox.onTaken();
    else {
      this.conversation.title = sent.title;
      this.add([sent.user_message]);
      if (sent.memory) this.notices[sent.user_message.id] = sent.memory;
    }
    this.answer(sent, clock);
    if (isNew && !this.isClosed) this.onCreated(id);
  }

  private async create(): Promise<Conversation> {
    await this.takeUsual();
    const { model, systemPrompt: system_prompt, memory, speculation, windowPolicy: window_policy } = this;
    const features = { tools: $state.snapshot(this.tools), memory, speculation };
    return api.createConversation({ model, ...this.asking, system_prompt, ...features, window_policy });
  }

  /** Fetch the request that this text would send now. */
  async preview(text: string, signal: AbortSignal): Promise<Preview> {
    await this.settingsSaved();
    const { conversation } = this;
    if (!conversation) await this.takeUsual();
    const body = {
      text,
      parent_id: this.path.at(-1)?.id ?? null,
      params: this.asking.params,
      ...this.files.wanted,
    };
    const { model, systemPrompt: system_prompt, tools, memory } = this;
    const begun = conversation ? {} : { model, system_prompt, tools: $state.snapshot(tools), memory };
    return api.preview(conversation?.id ?? null, { ...body, ...begun }, signal);
  }

  /** All but the text on which the next request depends, as one string to compare. */
  get basis(): string {
    const { conversation, params } = this;
    const prompt = conversation?.system_prompt ?? this.systemPrompt;
    const { model, tools, memory, windowPolicy, summaries } = this;
    const branch = [conversation?.id, this.path.at(-1)?.id, summaries.inForce(this.path)?.id];
    return JSON.stringify([...branch, model, prompt, params, tools, memory, this.files.wanted, windowPolicy]);
  }

  /** Choose the tools of the answers from the next message on. */
  async useTools(names: string[]): Promise<void> {
    const before = this.tools;
    this.tools = names;
    const { conversation } = this;
    if (!conversation) return;
    this.problem = null;
    try {
      this.toolsSaved = api.changeConversation(conversation.id, { tools: names });
      await this.toolsSaved;
    } catch (error) {
      this.tools = before;
      this.problem = refusalOf(error);
    }
  }

  /** Show another notice below a message; null: none. */
  notice(messageId: string, notice: MemoryNotice | null): void {
    if (notice) this.notices[messageId] = notice;
    else delete this.notices[messageId];
  }

  /** Ask whether this text is to be remembered. */
  askToRemember({ id, text }: Pick<Message, "id" | "text">): void {
    this.notice(id, { kind: "ask", text, memory: null, matches: [], problem: "" });
  }

  private parentOf({ editedId }: Unsent): string | null {
    const edited = this.conversation?.messages.find(({ id }) => id === editedId);
    return edited ? edited.parent_id : (this.path.at(-1)?.id ?? null);
  }

  /** Save the settings. They hold from the next message on. */
  async configure(): Promise<void> {
    const { conversation } = this;
    if (!conversation) return;
    const { systemPrompt: system_prompt, memory, speculation, windowPolicy: window_policy } = this;
    const change = { ...this.asking, system_prompt, memory, speculation, window_policy };
    this.problem = null;
    try {
      await api.changeConversation(conversation.id, change);
      conversation.system_prompt = change.system_prompt;
    } catch (error) {
      const { message, setting } = refusalOf(error);
      this.problem = { message: `The settings were not saved: ${message}`, setting };
    }
  }

  /** Answer the question again. isFresh: with a new seed, even if the settings name one. */
  async regenerate(message: Message, keydownAt: number, isFresh = false): Promise<void> {
    const clock = new ClientClock(keydownAt);
    this.problem = null;
    try {
      await this.settingsSaved();
      clock.sent();
      const { asked } = this;
      const params = isFresh ? { ...asked.params, seed: null } : asked.params;
      const body = { ...asked, params, client: { ...clock.timing } };
      this.answer(await api.regenerate(message.id, body), clock);
    } catch (error) {
      this.problem = refusalOf(error);
    }
  }

  /** Fork an answer, as a new branch beside it; null: it has begun. text: shown until the fork's own events come. */
  async fork(requestId: string, place: ForkPlace, keydownAt: number, text = ""): Promise<Refusal | null> {
    const clock = new ClientClock(keydownAt);
    clock.sent();
    try {
      const body = { ...place, is_stepped: this.isStepped, client: { ...clock.timing } };
      const started = await api.fork(requestId, body);
      started.assistant_message.text ||= text;
      this.answer(started, clock);
      return null;
    } catch (error) {
      return refusalOf(error);
    }
  }

  /** True when the answer did not end by itself, and has tokens to continue. */
  canGoOn(message: Message): boolean {
    if (!message.request_id || this.running) return false;
    const trace = this.traces[message.request_id] ?? null;
    const num = trace?.isOver
      ? atLastGeneration(trace.whole).tokens.length
      : (message.figures?.usage?.output ?? 0);
    const { outcome, cut } = endingOf(message, trace);
    return num > 0 && (["stopped", "repetition"].includes(outcome) || cut?.by === "setting");
  }

  /** Go on from the last token, for as many tokens again as the limit allows; a repeating answer may go on too. */
  async goOn(message: Message, keydownAt: number): Promise<void> {
    this.problem = null;
    const trace = this.traceOf(message)!;
    if (!trace.isOver) await trace.completion;
    const whole = atLastGeneration(trace.whole);
    if (this.isClosed) return;
    if (!whole.accepted) {
      this.problem = { message: "The answer did not load. Try again.", setting: null };
      return;
    }
    const position = numKept(whole) + whole.tokens.length;
    const params = { ...whole.accepted.params, max_tokens: position + this.params.max_tokens };
    if (outcomeOf(whole) === "repetition") params.stop_on_repetition = false;
    const text = textSoFar(message, trace);
    this.problem = await this.fork(message.request_id!, { position, params }, keydownAt, text);
  }

  private answer(started: Begun, clock: ClientClock): void {
    clock.responded(started);
    this.onStarted();
    if (this.isClosed) return;
    this.add([started.assistant_message, ...started.siblings]);
    this.conversation!.leaf_id = started.assistant_message.id;
    // A repeated post has no times of its own.
    this.follow(started.assistant_message, started.is_repeat ? null : clock);
    // No paint of a sibling can be timed: it is not on the screen.
    for (const sibling of started.siblings) this.follow(sibling, null);
  }

  private follow(message: Message, clock: ClientClock | null): void {
    // After the close no code would close a new trace.
    if (this.isClosed) return;
    const trace = new RequestTrace(message.request_id!);
    // A refresh may have opened this trace before the reply came.
    this.traces[trace.requestId]?.close();
    this.traces[trace.requestId] = trace;
    this.recent.touch(trace.requestId);
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
    else void trace.openSaved(this.socket).then(() => this.letGo());
  }

  private async settle(id: string, trace: RequestTrace, clock: ClientClock | null): Promise<void> {
    const message = this.conversation?.messages.find((each) => each.id === id);
    const { whole } = trace;
    if (message && message.status === "streaming") {
      message.text = answerText(whole);
      const outcome = outcomeOf(whole);
      const isDone = outcome === "length" || outcome === "repetition" || outcome === "running";
      message.status = isDone ? "done" : outcome;
      message.error = whole.failed;
    }
    this.onSettled();
    if (this.windowPolicy === "summarise") this.summaries.look();
    void this.letGo();
    if (!clock) return;
    // The last paint is known only after it has happened.
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 50)));
    const timing = clock.complete();
    trace.observe(timing);
    await api.observed(trace.requestId, timing).catch(() => {});
  }

  /** The events of all but the last few answers; their messages keep what the conversation shows of them. */
  private async letGo(): Promise<void> {
    const { path } = this;
    const isShown = (id: string) =>
      id === this.inspected || this.seen.has(id) || id === path.at(-1)?.request_id;
    const isFree = (id: string) => this.traces[id]?.isEnded === true && !isShown(id);
    const surplus = this.recent.surplus(MOST_TRACES, isFree);
    if (!surplus.length || this.isClosed || !(await this.completes(surplus))) return;
    for (const id of surplus.filter(isFree)) {
      this.recent.forget(id);
      this.traces[id]!.close();
      delete this.traces[id];
    }
  }

  /** Return true when the messages of these requests have all that a reload would show of them. */
  private async completes(requestIds: string[]): Promise<boolean> {
    const { conversation } = this;
    const isOne = ({ request_id }: Message) => request_id !== null && requestIds.includes(request_id);
    if (conversation!.messages.filter(isOne).every(({ figures }) => figures)) return true;
    const now = await api.conversation(conversation!.id).catch(() => null);
    for (const known of now?.messages.filter(isOne) ?? []) {
      const message = conversation!.messages.find(({ id }) => id === known.id);
      if (message) Object.assign(message, known);
    }
    return now !== null;
  }

  /** End all answers to the message, also those not on the screen: the user waits for none of them any more. */
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
    this.isClosed = true;
    this.files.close();
    this.summaries.close();
    for (const trace of Object.values(this.traces)) trace.close();
  }
}
