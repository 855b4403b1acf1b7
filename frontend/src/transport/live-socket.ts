/** One connection of the live page to the server's stream of moments. Knows nothing of what is shown. */
import type { LiveNow } from "../protocol/api";

/** A handshake, or a stream that should speak each second, is not waited for any longer. */
const SILENCE_MS = 8000;
/** The server closes so when the operator may no longer read. */
const FORBIDDEN = 4403;

export interface LiveReader {
  receive(now: LiveNow): void;
  /** The connection has gone, or never came. isForbidden: the server says that the reader may not have it any more. */
  lose(isForbidden: boolean): void;
}

export class LiveSocket {
  private readonly socket: WebSocket;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private numMessages = 0;

  constructor(private readonly reader: LiveReader) {
    this.socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/live`);
    this.socket.onmessage = ({ data }) => this.receive(data as string);
    this.socket.onclose = (event) => this.end((event as CloseEvent | undefined)?.code === FORBIDDEN);
    this.expect();
  }

  close(): void {
    clearTimeout(this.timer);
    this.socket.onclose = this.socket.onmessage = null;
    this.socket.close();
  }

  private receive(text: string): void {
    this.expect();
    this.numMessages += 1;
    this.socket.send(JSON.stringify({ type: "ack", num_messages: this.numMessages }));
    this.reader.receive(JSON.parse(text) as LiveNow);
  }

  private expect(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.end(false), SILENCE_MS);
  }

  private end(isForbidden: boolean): void {
    this.close();
    this.reader.lose(isForbidden);
  }
}
