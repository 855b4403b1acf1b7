/**
 * The outbox of a conversation: its draft, and messages that no reply has confirmed.
 *
 * An outbox outlives the page that shows it. It is saved for this tab and this user, so it also outlives a reload.
 * Knows nothing of the network.
 */
import type { Refusal } from "./settings";
import type { SamplingParams } from "../../protocol/events";
import type { Message } from "../../protocol/api";
import type { Taken } from "./files.svelte";

/** A message that is on its way, or was refused. */
export interface Unsent {
  /** The key of its posts. The server takes one message for each key. */
  id: string;
  text: string;
  /** The message that it edits; null: it goes to the end. */
  editedId: string | null;
  /** Settings for this message alone; null or, in old saved messages, absent: none. */
  own?: Partial<SamplingParams> | null;
  /** Files and pins that it takes along; in old saved messages absent: none. */
  taken?: Taken;
  /** Null: it is being sent. */
  refusal: Refusal | null;
  /** The conversation to which it was posted; null: the server certainly has not taken it. */
  posted: string | null;
}

interface Written {
  draft: string;
  messages: Unsent[];
}

const PREFIX = "sightglass-written-";
const NOT_POSTED = "You left the page before it sent this message.";
const LEFT = "You left the page while it sent this message. The message has not appeared here yet.";
const LEFT_NEW =
  "You left the page while it sent this message. It may have begun a chat: look in the list of chats.";
const LOOKED_FOR = "“Try again” looks for the message first.";

/** True when the server's messages include this one, although no reply confirmed it. */
export function isTaken({ id }: Unsent, messages: Message[]): boolean {
  return messages.some(({ key }) => key === id);
}

const newKey = () => `unsent-${Math.random().toString(36).slice(2)}`;

/** The unsent messages of one conversation. */
export class Outbox {
  /** The first sent comes first. */
  messages = $state<Unsent[]>([]);
  /** Called when the server takes a message whose page the user has left. */
  onTaken: () => void = () => {};
  private text = $state("");

  constructor(
    private readonly store: Outboxes,
    private conversation: string | null,
  ) {
    const { draft, messages } = store.read(conversation);
    this.text = draft;
    this.messages = messages.map((each) => ({ ...each, refusal: each.refusal ?? this.left(each) }));
  }

  get draft(): string {
    return this.text;
  }

  set draft(text: string) {
    this.text = text;
    this.keep();
  }

  get sending(): Unsent | null {
    return this.messages.find(({ refusal }) => refusal === null) ?? null;
  }

  add(
    text: string,
    editedId: string | null,
    own: Partial<SamplingParams> | null = null,
    taken: Taken = {},
  ): Unsent {
    this.messages.push({ id: newKey(), text, editedId, own, taken, refusal: null, posted: null });
    this.keep();
    return this.messages.at(-1)!;
  }

  /** Mark a message as being sent again. With another text it is another message, under another key. */
  again(unsent: Unsent, text: string): void {
    if (text !== unsent.text) Object.assign(unsent, { id: newKey(), posted: null, own: null });
    unsent.text = text;
    unsent.refusal = null;
    this.keep();
  }

  /** Note that the message is posted: from now on the server may have it. */
  post(unsent: Unsent, conversation: string): void {
    unsent.posted ??= conversation;
    this.keep();
  }

  refuse(unsent: Unsent, refusal: Refusal, isCertain: boolean): void {
    unsent.refusal = refusal;
    if (isCertain) unsent.posted = null;
    this.keep();
  }

  /** Remove a message that was sent or discarded. */
  remove(id: string): void {
    this.messages = this.messages.filter((each) => each.id !== id);
    this.keep();
  }

  /** Remove refused messages that the server has taken: only their reply was lost. */
  removeTaken(messages: Message[]): void {
    for (const each of this.messages) if (each.refusal && isTaken(each, messages)) this.remove(each.id);
  }

  keep(): void {
    this.store.write(this.conversation, { draft: this.text, messages: this.messages });
  }

  /** Delete the copy saved for a reload; text on the page stays there. */
  forget(): void {
    this.store.write(this.conversation, null);
  }

  moveTo(conversation: string): void {
    this.forget();
    this.conversation = conversation;
    this.keep();
  }

  private left({ posted }: Unsent): Refusal {
    const message = this.conversation ? LEFT : LEFT_NEW;
    return { message: posted ? `${message} ${LOOKED_FOR}` : NOT_POSTED, setting: null };
  }
}

/** The outboxes of one user in this tab. */
export class Outboxes {
  private readonly all = new Map<string | null, Outbox>();
  private isOver = false;

  constructor(private readonly user: number) {
    // The last user in this tab may have been a different one.
    remove((key) => !key.startsWith(this.keyOf(null)));
  }

  /** The outbox of a conversation; null: of the one that has not begun. */
  of(conversation: string | null): Outbox {
    const known = this.all.get(conversation);
    if (known) return known;
    const outbox = new Outbox(this, conversation);
    this.all.set(conversation, outbox);
    return outbox;
  }

  /** Move the unsent text of the new conversation to the one that its first message began. */
  begin(conversation: string): void {
    const outbox = this.of(null);
    this.all.delete(null);
    this.all.set(conversation, outbox);
    outbox.moveTo(conversation);
  }

  /** Delete everything when the user signs out. A message that fails later is not saved either. */
  close(): void {
    this.isOver = true;
    remove(() => true);
  }

  read(conversation: string | null): Written {
    const saved = sessionStorage.getItem(this.keyOf(conversation));
    return saved ? (JSON.parse(saved) as Written) : { draft: "", messages: [] };
  }

  write(conversation: string | null, written: Written | null): void {
    if (this.isOver) return;
    const key = this.keyOf(conversation);
    if (!written?.draft && !written?.messages.length) return sessionStorage.removeItem(key);
    try {
      sessionStorage.setItem(key, JSON.stringify(written));
    } catch {
      // The browser refuses so much; the page still has it.
    }
  }

  private keyOf(conversation: string | null): string {
    return `${PREFIX}${this.user}-${conversation ?? ""}`;
  }
}

function remove(isMeant: (key: string) => boolean): void {
  for (const key of Object.keys(sessionStorage))
    if (key.startsWith(PREFIX) && isMeant(key)) sessionStorage.removeItem(key);
}
