/** One request's frames: on the page's WebSocket, or by server-sent events where none can be had. Drops what it has
 * seen and ends once. */
import type { AnyEvent, Frame } from "../protocol/events";
import type { Followed, Socket, StreamProblem } from "./socket";

export type Carrier = "websocket" | "sse";

export interface StreamHandlers {
  onEvent: (event: AnyEvent, seq: number) => void;
  /** A frame as it came; it may hold events that were had before. */
  onFrame?: (frame: Frame, text: string, carrier: Carrier) => void;
  /** What was had is void: the log was lost, and written anew. */
  onAgain?: () => void;
  onEnd: () => void;
  onLost: (isLost: boolean) => void;
  /** The server will not send this stream, now or later. */
  onRefused: (message: string) => void;
}

/** Signed out, not there, or its saved trace is damaged. */
const REFUSALS = [401, 404, 409];
/** A sign-in that ended takes the events away, not the answer. */
const GOES_ON = "Sign in again to go on watching; the answer goes on by itself.";
const SIGN_IN = "Sign in again to see this request.";

export class EventStream implements Followed {
  lastId: string | number = 0;
  private lastSeq = 0;
  private source: EventSource | null = null;
  private retryMs = 250;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly requestId: string,
    private readonly handlers: StreamHandlers,
    private readonly socket: Socket,
  ) {
    socket.follow(this);
  }

  close(): void {
    this.socket.unfollow(this);
    this.closeSource();
  }

  /** Everything of a frame that has not been seen yet. */
  receive(frame: Frame, text = ""): void {
    if (text) this.handlers.onFrame?.(frame, text, this.source ? "sse" : "websocket");
    frame.events.forEach((event, index) => {
      const seq = frame.seq + index;
      if (seq > this.lastSeq) {
        this.lastSeq = seq;
        this.handlers.onEvent(event, seq);
      }
    });
    this.lastId = frame.id ?? this.lastSeq;
  }

  beginAgain(): void {
    this.lastSeq = this.lastId = 0;
    this.handlers.onAgain?.();
  }

  end(): void {
    this.close();
    this.handlers.onEnd();
  }

  refuse({ code, message }: StreamProblem): void {
    this.close();
    const signIn = this.lastSeq ? GOES_ON : SIGN_IN;
    this.handlers.onRefused(code === "not_signed_in" ? signIn : message);
  }

  lose(isLost: boolean): void {
    this.handlers.onLost(isLost);
  }

  fallBack(): void {
    const source = new EventSource(this.url);
    this.source = source;
    source.addEventListener("open", () => {
      this.retryMs = 250;
      this.lose(false);
    });
    source.addEventListener("frame", (message: MessageEvent<string>) =>
      this.receive(JSON.parse(message.data) as Frame, message.data),
    );
    source.addEventListener("again", () => this.beginAgain());
    source.addEventListener("resume", () => this.reopen(0));
    source.addEventListener("end", () => this.end());
    // EventSource gives up by itself on some errors; opening a new one covers all of them.
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) void this.askWhy();
      this.lose(true);
      this.reopen(this.retryMs);
      this.retryMs = Math.min(this.retryMs * 2, 8000);
    });
  }

  /** EventSource does not tell an answer that is an error from a server that cannot be reached. */
  private async askWhy(): Promise<void> {
    const abort = new AbortController();
    const response = await fetch(this.url, { signal: abort.signal }).catch(() => null);
    if (response && REFUSALS.includes(response.status)) {
      const body = (await response.json().catch(() => null)) as { error: StreamProblem } | null;
      this.refuse(body?.error ?? { code: "", message: "The trace does not load." });
    }
    abort.abort();
  }

  private get url(): string {
    return `/api/requests/${this.requestId}/events?after=${this.lastId}`;
  }

  private closeSource(): void {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }

  private reopen(delayMs: number): void {
    this.closeSource();
    this.timer = setTimeout(() => this.fallBack(), delayMs);
  }
}
