/** One request's frames by server-sent events: resumes after the last frame, drops what it has seen, ends once. */
import type { AnyEvent, Frame } from "../protocol/events";

export interface StreamHandlers {
  onEvent: (event: AnyEvent, seq: number) => void;
  onFrame?: () => void;
  onEnd: () => void;
  onLost: (isLost: boolean) => void;
  /** The server will not send this stream, now or later. */
  onRefused: (message: string) => void;
}

/** Not there, or its saved trace is damaged. */
const REFUSALS = [404, 409];

export class EventStream {
  private source: EventSource | null = null;
  private lastSeq = 0;
  private retryMs = 250;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly requestId: string,
    private readonly handlers: StreamHandlers,
  ) {
    this.open();
  }

  close(): void {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }

  /** Everything of a frame that has not been seen yet. */
  receive(frame: Frame): void {
    frame.events.forEach((event, index) => {
      const seq = frame.seq + index;
      if (seq > this.lastSeq) {
        this.lastSeq = seq;
        this.handlers.onEvent(event, seq);
      }
    });
    this.handlers.onFrame?.();
  }

  private open(): void {
    const source = new EventSource(this.url);
    this.source = source;
    source.addEventListener("open", () => {
      this.retryMs = 250;
      this.handlers.onLost(false);
    });
    source.addEventListener("frame", (message) => this.receive(JSON.parse(message.data) as Frame));
    source.addEventListener("resume", () => this.reopen(0));
    source.addEventListener("end", () => {
      this.close();
      this.handlers.onEnd();
    });
    // EventSource gives up by itself on some errors; opening anew covers all of them.
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) void this.askWhy();
      this.handlers.onLost(true);
      this.reopen(this.retryMs);
      this.retryMs = Math.min(this.retryMs * 2, 8000);
    });
  }

  /** EventSource does not tell an answer that is an error from a server that cannot be reached. */
  private async askWhy(): Promise<void> {
    const abort = new AbortController();
    const response = await fetch(this.url, { signal: abort.signal }).catch(() => null);
    if (response && REFUSALS.includes(response.status)) {
      const body = (await response.json().catch(() => null)) as { error: { message: string } } | null;
      this.close();
      this.handlers.onRefused(body?.error.message ?? "The trace cannot be read.");
    }
    abort.abort();
  }

  private get url(): string {
    return `/requests/${this.requestId}/events?after=${this.lastSeq}`;
  }

  private reopen(delayMs: number): void {
    this.close();
    this.timer = setTimeout(() => this.open(), delayMs);
  }
}
