/** The browser's own moments of one request, in µs since the epoch by this browser's clock. */
import type { ClientTiming } from "../protocol/events";

export function unixUs(at = performance.now()): number {
  return Math.round((performance.timeOrigin + at) * 1000);
}

export class ClientClock {
  readonly timing: Partial<ClientTiming> = {};

  constructor(keydownAt: number) {
    this.timing.keydown_unix_us = unixUs(keydownAt);
  }

  sent(): void {
    this.timing.sent_unix_us = unixUs();
  }

  /** Offset as NTP estimates it: the mean of the two one-way differences. */
  responded(receivedUnixUs: number, respondedUnixUs: number): void {
    const now = unixUs();
    this.timing.responded_unix_us = now;
    const sent = this.timing.sent_unix_us!;
    this.timing.clock_offset_us = Math.round((receivedUnixUs - sent + (respondedUnixUs - now)) / 2);
    const entry = performance.getEntriesByType("navigation")[0] as PerformanceNavigationTiming | undefined;
    if (entry) {
      this.timing.dns_us = Math.round((entry.domainLookupEnd - entry.domainLookupStart) * 1000);
      this.timing.tcp_us = Math.round((entry.connectEnd - entry.connectStart) * 1000);
      this.timing.tls_us = entry.secureConnectionStart
        ? Math.round((entry.connectEnd - entry.secureConnectionStart) * 1000)
        : 0;
      this.timing.http_version = entry.nextHopProtocol;
    }
  }

  /** Text has arrived; the paint that shows it is over two frames later. */
  text(onPainted?: () => void): void {
    const now = unixUs();
    this.timing.first_frame_unix_us ??= now;
    this.timing.last_frame_unix_us = now;
    requestAnimationFrame(() =>
      setTimeout(() => {
        this.timing.first_paint_unix_us ??= unixUs();
        this.timing.last_paint_unix_us = unixUs();
        onPainted?.();
      }),
    );
  }

  complete(): ClientTiming {
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
      dns_us: null,
      tcp_us: null,
      tls_us: null,
      http_version: null,
      ...this.timing,
    };
  }
}
