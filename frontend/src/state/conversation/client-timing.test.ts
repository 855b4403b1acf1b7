import { expect, it } from "vitest";
import { ClientClock, network, unixUs } from "./client-timing";

function entry(path: string, times: Partial<PerformanceResourceTiming>): PerformanceResourceTiming {
  const none = {
    domainLookupStart: 5,
    domainLookupEnd: 5,
    connectStart: 5,
    connectEnd: 5,
    secureConnectionStart: 0,
  };
  return {
    name: `http://localhost${path}`,
    nextHopProtocol: "h2",
    ...none,
    ...times,
  } as PerformanceResourceTiming;
}

it("tells name look-up, connection and TLS apart, without counting any of them twice", () => {
  const times = {
    domainLookupStart: 1,
    domainLookupEnd: 2,
    connectStart: 2,
    secureConnectionStart: 4,
    connectEnd: 9,
  };
  const found = network([entry("/api/conversations/c/messages", { ...times, responseStart: 20 })]);
  expect(found).toEqual({ dns_us: 1000, tcp_us: 2000, tls_us: 5000, http_version: "h2" });
});

it("says nothing of what the browser did not report", () => {
  expect(network([])).toEqual({});
  expect(network([entry("/api/conversations/c/messages", { responseStart: 0 })])).toEqual({});
});

it("estimates the clock offset from the four times of the POST, as NTP does", () => {
  const clock = new ClientClock(performance.now());
  clock.sent();
  const ahead = 3_600_000_000;
  const server = unixUs() + ahead;
  clock.responded({ received_unix_us: server, responded_unix_us: server, server_timing: null });
  expect(Math.abs(clock.timing.clock_offset_us! - ahead)).toBeLessThan(50_000);
});

it("holds the clock offset to what arrived: nothing does before it was made", () => {
  const clock = new ClientClock(performance.now());
  clock.sent();
  const server = unixUs();
  // The reply was ready 200 ms before the page took it, or so it seems.
  clock.responded({ received_unix_us: server, responded_unix_us: server - 200_000, server_timing: null });
  expect(clock.timing.clock_offset_us).toBeLessThan(-90_000);
  expect(clock.timing.clock_offset_error_us).toBeGreaterThan(90_000);
  clock.heard(unixUs() - 2000);
  const { clock_offset_us, clock_offset_error_us } = clock.complete();
  const [least, most] = [
    clock_offset_us! - clock_offset_error_us!,
    clock_offset_us! + clock_offset_error_us!,
  ];
  expect(least).toBeGreaterThan(-4000);
  expect(most).toBeGreaterThanOrEqual(server - clock.timing.sent_unix_us!);
  // On one machine the clocks are one, and the bound has to hold that.
  expect(least).toBeLessThanOrEqual(0);
  expect(most).toBeGreaterThanOrEqual(0);
});
