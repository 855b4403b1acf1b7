import { expect, it } from "vitest";
import { REQUEST } from "../../charts/fixtures";
import { csvOf } from "../../charts/tables/csv";
import {
  arrivalText,
  costText,
  endingText,
  listedText,
  requestsTable,
  timeText,
  traceHref,
} from "./requests";

it("says how a request ended, and what is unknown", () => {
  expect(endingText(REQUEST)).toBe("failed: worker lost");
  expect(endingText({ ...REQUEST, status: "blocked", error_code: "blocked" })).toBe("blocked");
  expect(endingText({ ...REQUEST, status: "done", error_code: "" })).toBe("done");
  expect(costText({ ...REQUEST, cost: null })).toBe("unknown");
  expect(timeText(null)).toBe("–");
});

it("names the arrival in the report's zone", () => {
  expect(arrivalText(REQUEST, "Europe/Berlin")).toBe("Oct 24, 15:03:12");
  expect(arrivalText({ ...REQUEST, accepted_at: "2026-10-24T22:00:00Z" }, "Europe/Berlin")).toBe(
    "Oct 25, 00:00:00",
  );
});

it("says how many are not listed", () => {
  expect(listedText({ requests: [REQUEST], num_requests: 1 })).toBe("1 request.");
  expect(listedText({ requests: [REQUEST], num_requests: 1200 })).toBe("The first 1 of 1,200 requests.");
});

it("writes exact figures into a file, and no formula", () => {
  const file = csvOf(requestsTable({ requests: [REQUEST, { ...REQUEST, cost: null }], num_requests: 2 }));
  expect(file).toContain("'=cmd()");
  expect(file).toContain("10,30,0,0,5,0.0000015,,1200,USD");
  expect(file).toContain("10,30,0,0,5,,,1200,");
});

it("leads to a trace that the reader may read, another user's below the desk", () => {
  const id = REQUEST.request_id;
  expect(traceHref(REQUEST)).toBe(`/requests/${id}`);
  expect(traceHref({ ...REQUEST, is_own: false })).toBe(`/admin/requests/${id}`);
  expect(traceHref({ ...REQUEST, is_readable: false })).toBeNull();
});
