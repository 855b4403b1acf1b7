/** The times of one request that only the browser knows, in µs since the epoch by its own clock. */
import type { ClientTiming, ServerInterval } from "../../protocol/events";

export function unixUs(at = performance.now()): number {
  return Math.round((performance.timeOrigin + at) * 1000);
}

/** Resource Timing's figures for the POST; a reused connection cost nothing, so it says 0. */
export function network(entries: PerformanceResourceTiming[]): Partial<ClientTiming> {
  const post = entries.find((entry) => /\/(messages|regenerate|fork)$/.test(new URL(entry.name).pathname));
  const micros = (from: number, to: number) => Math.round((to - from) * 1000);
  if (!post?.responseStart) return {};
  return {
    dns_us: micros(post.domainLookupStart, post.domainLookupEnd),
    tcp_us: micros(post.connectStart, post.secureConnectionStart || post.connectEnd),
    tls_us: post.secureConnectionStart ? micros(post.secureConnectionStart, post.connectEnd) : 0,
    http_version: post.nextHopProtocol,
  };
}

/** The times that the reply to the POST reports. */
interface Reply {
  received_unix_us: number;
  responded_unix_us: number;
  server_timing: ServerInterval[] | null;
}

export class ClientClock {
  readonly timing: Partial<ClientTiming> = {};
  /** Bounds of the server's clock minus this one: nothing arrives before it was sent. */
  private least = -Infinity;
  private most = Infinity;

  constructor(keydownAt: number) {
    this.timing.keydown_unix_us = unixUs(keydownAt);
  }

  sent(): void {
    // The browser keeps a limited number of entries; earlier requests' entries have been read.
    performance.clearResourceTimings();
    this.timing.sent_unix_us = unixUs();
  }

  /** Take the reply. The clock offset lies between the two one-way differences, as in NTP; a late reply widens them. */
  responded({ received_unix_us, responded_unix_us, server_timing }: Reply): void {
    const [receivedUnixUs, respondedUnixUs] = [received_unix_us, responded_unix_us];
    const now = unixUs();
    this.timing.responded_unix_us = now;
    this.timing.server_timing = server_timing;
    const sent = this.timing.sent_unix_us!;
    this.most = receivedUnixUs - sent;
    this.least = Math.max(this.least, respondedUnixUs - now);
    this.bound();
  }

  /** Take the arrival of an event, with the time at which the server's clock saw it made. */
  heard(madeUnixUs: number): void {
    this.least = Math.max(this.least, madeUnixUs - unixUs());
  }

  /** Estimate the clock offset as the middle of its bounds, and its error as half their distance. */
  private bound(): void {
    if (!Number.isFinite(this.most)) return;
    this.timing.clock_offset_us = Math.round((this.least + this.most) / 2);
    this.timing.clock_offset_error_us = Math.ceil(Math.abs(this.most - this.least) / 2);
  }

  /** Take the arrival of the first event; later calls change nothing. */
  connected(): void {
    this.timing.connected_unix_us ??= unixUs();
    this.readNetwork();
  }

  /** Read the POST's Resource Timing entry. It may come late, and the next POST clears it: call this repeatedly. */
  private readNetwork(): void {
    if (this.timing.http_version !== undefined) return;
    const entries = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
    Object.assign(this.timing, network(entries));
  }

  /** Take the arrival of text. A frame's callbacks run before its paint, and a task that they post runs after it. */
  text(): void {
    const now = unixUs();
    this.timing.first_frame_unix_us ??= now;
    this.timing.last_frame_unix_us = now;
    requestAnimationFrame(() => {
      const painted = new MessageChannel();
      painted.port1.onmessage = () => {
        painted.port1.close();
        this.timing.last_paint_unix_us = unixUs();
        this.timing.first_paint_unix_us ??= this.timing.last_paint_unix_us;
      };
      painted.port2.postMessage(null);
    });
  }

  /** All known times, the network's included. */
  complete(): ClientTiming {
    this.readNetwork();
    this.bound();
    return {
      keydown_unix_us: null,
      sent_unix_us: null,
      responded_unix_us: null,
      connected_unix_us: null,
      first_frame_unix_us: null,
      first_paint_unix_us: null,
      last_frame_unix_us: null,
      last_paint_unix_us: null,
      clock_offset_us: null,
      clock_offset_error_us: null,
      dns_us: null,
      tcp_us: null,
      tls_us: null,
      http_version: null,
      server_timing: null,
      ...this.timing,
    };
  }
}
