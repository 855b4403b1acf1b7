/** The page's one WebSocket, on which it follows any number of requests: no new connection when one is sent. */
import type { Frame } from "../protocol/events";

/** Why the server does not send a stream. */
export interface StreamProblem {
  code: string;
  message: string;
}

/** One request's stream, whatever carries it. */
export interface Followed {
  readonly requestId: string;
  /** The id of the last frame had; 0: none was. */
  readonly lastId: string | number;
  /** text: the message as it came. */
  receive(frame: Frame, text?: string): void;
  end(): void;
  /** The server will not send this stream, now or later. */
  refuse(problem: StreamProblem): void;
  /** The connection has gone, and comes back by itself; or is there again. */
  lose(isLost: boolean): void;
  /** The server's log was lost, and written anew: what was had is void, and all of it comes again. */
  beginAgain(): void;
  /** There is no WebSocket to be had. */
  fallBack(): void;
}

interface Message extends Partial<Frame> {
  tag: number;
  end?: true;
  again?: true;
  resume?: string;
  error?: StreamProblem;
}

/** A handshake that a proxy swallows is not waited for any longer. */
const OPEN_MS = 2000;
const MIN_RETRY_MS = 250;
const MAX_RETRY_MS = 8000;
/** The server stops at 1 MiB that was not acknowledged. */
const ACK_CHARS = 1 << 16;

export class Socket {
  private socket: WebSocket | null = null;
  private readonly followed = new Map<number, Followed>();
  private lastTag = 0;
  private wasEverOpen = false;
  /** Something in the way lets no WebSocket through. */
  private isBlocked = false;
  private retryMs = MIN_RETRY_MS;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private numMessages = 0;
  private numUnackedChars = 0;

  /** Open the page's one connection; a request followed before that opens it too. */
  open(): void {
    if (this.socket) return;
    clearTimeout(this.timer);
    const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/events`);
    const patience = setTimeout(() => socket.close(), OPEN_MS);
    let isOpened = false;
    this.socket = socket;
    socket.onopen = () => {
      clearTimeout(patience);
      isOpened = this.wasEverOpen = true;
      this.numMessages = this.numUnackedChars = 0;
      for (const [tag, each] of this.followed) this.ask(tag, each);
    };
    socket.onmessage = ({ data }) => this.receive(data as string);
    socket.onclose = () => {
      clearTimeout(patience);
      this.socket = null;
      this.lose(isOpened);
    };
  }

  close(): void {
    clearTimeout(this.timer);
    if (this.socket) this.socket.onclose = null;
    this.socket?.close();
    this.socket = null;
  }

  follow(each: Followed): void {
    if (this.isBlocked) return each.fallBack();
    const tag = ++this.lastTag;
    this.followed.set(tag, each);
    if (this.isOpen) this.ask(tag, each);
    else if (!this.socket) this.open();
  }

  unfollow(each: Followed): void {
    for (const [tag, other] of this.followed)
      if (other === each) {
        this.followed.delete(tag);
        if (this.isOpen) this.send({ type: "unfollow", tag });
      }
  }

  private get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  private send(message: object): void {
    this.socket!.send(JSON.stringify(message));
  }

  private ask(tag: number, each: Followed): void {
    this.send({ type: "follow", tag, request_id: each.requestId, after: each.lastId });
    each.lose(false);
  }

  private receive(text: string): void {
    this.retryMs = MIN_RETRY_MS;
    const message = JSON.parse(text) as Message;
    const each = this.followed.get(message.tag);
    if (each) this.pass(message, each, text);
    this.acknowledge(text.length);
  }

  private pass(message: Message, each: Followed, text: string): void {
    if (message.events) return each.receive(message as Frame, text);
    if (message.again) return each.beginAgain();
    this.followed.delete(message.tag);
    if (message.error) each.refuse(message.error);
    else if (message.resume !== undefined) this.follow(each);
    else each.end();
  }

  private acknowledge(numChars: number): void {
    this.numMessages += 1;
    this.numUnackedChars += numChars;
    if (this.numUnackedChars < ACK_CHARS || !this.isOpen) return;
    this.numUnackedChars = 0;
    this.send({ type: "ack", num_messages: this.numMessages });
  }

  /** The socket is closed. One that was open is tried again at once; streams waiting for a first opening fall back. */
  private lose(wasOpen: boolean): void {
    this.isBlocked = !this.wasEverOpen;
    const waiting = [...this.followed.values()];
    if (!wasOpen) this.followed.clear();
    for (const each of waiting) {
      if (wasOpen) each.lose(true);
      else each.fallBack();
    }
    if (this.isBlocked) return;
    this.timer = setTimeout(() => this.open(), this.retryMs);
    this.retryMs = Math.min(this.retryMs * 2, MAX_RETRY_MS);
  }
}
