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
  const found = network([entry("/api/conversations/c/messages", { ...times, responseStart: 20 })], "req_1");
  expect(found).toEqual({ dns_us: 1000, tcp_us: 2000, tls_us: 5000, http_version: "h2" });
});

it("says nothing of what the browser did not report", () => {
  expect(network([], "req_1")).toEqual({});
  expect(network([entry("/api/conversations/c/messages", { responseStart: 0 })], "req_1")).toEqual({});
});

it("takes the first byte from this request's own stream", () => {
  const entries = [
    entry("/requests/req_0/events?after=0", { responseStart: 1 }),
    entry("/requests/req_1/events?after=0", { responseStart: 7 }),
  ];
  expect(network(entries, "req_1")).toEqual({ connected_unix_us: unixUs(7) });
});

it("estimates the clock offset from the four times of the POST, as NTP does", () => {
  const clock = new ClientClock(performance.now());
  clock.sent();
  const ahead = 3_600_000_000;
  const server = unixUs() + ahead;
  clock.responded(server, server);
  expect(Math.abs(clock.timing.clock_offset_us! - ahead)).toBeLessThan(50_000);
});
