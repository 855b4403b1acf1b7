import { expect, it } from "vitest";
import type { ListedRequest } from "../protocol/api";
import { costOfSet, day, idsOf, moment, nameOf, runsText, statusOfSet, when, withoutGone } from "./rows";

const RUN = { id: "b", title: "Why?", surface: "replay", fork_position: null } as ListedRequest;
const SET: ListedRequest = {
  ...RUN,
  run: { index: 1, num: 4, settings: {} },
  set: { ids: ["a", "b"], status: { done: 1, stopped: 1 }, cost_nano: null, currency: "" },
};

it("stands for all runs of a set, and for those that are left of it", () => {
  expect([idsOf(RUN), idsOf(SET)]).toEqual([["b"], ["a", "b"]]);
  expect(withoutGone(SET, new Set(["a"]))!.set!.ids).toEqual(["b"]);
  expect(withoutGone(SET, new Set(["a", "b"]))).toBeNull();
  expect(withoutGone(RUN, new Set(["b"]))).toBeNull();
  expect(withoutGone(RUN, new Set(["a"]))).toBe(RUN);
});

it("says nothing of what is left of a set while its runs are not known, and their own sum where they are", () => {
  const set: ListedRequest = { ...SET, set: { ...SET.set!, cost_nano: 30 } };
  expect(withoutGone(set, new Set())).toBe(set);
  expect(costOfSet(set, undefined)).toBe(30);
  const left = withoutGone(set, new Set(["a"]))!;
  expect([statusOfSet(left, undefined), costOfSet(left, undefined)]).toEqual(["", null]);
  const runs = [
    { ...RUN, id: "a", status: "done", cost_nano: 10 },
    { ...RUN, status: "stopped", cost_nano: 20 },
  ] as ListedRequest[];
  expect([statusOfSet(left, runs), costOfSet(left, runs)]).toEqual(["1\u00a0stopped", 20]);
  expect(costOfSet(left, [{ ...RUN, cost_nano: null } as ListedRequest])).toBeNull();
});

it("says how many runs there are and how they ended, newly where some are gone", () => {
  expect(runsText(SET)).toBe("2 of 4 runs of one set");
  expect(runsText({ ...SET, run: { index: 1, num: 2, settings: {} } })).toBe("2 runs of one set");
  expect(statusOfSet(SET, undefined)).toBe("1\u00a0done, 1\u00a0stopped");
  const runs = [
    { ...RUN, id: "a", status: "done" },
    { ...RUN, status: "stopped" },
  ] as ListedRequest[];
  expect(statusOfSet(withoutGone(SET, new Set(["a"]))!, runs)).toBe("1\u00a0stopped");
});

it("names rows apart for those who hear them", () => {
  expect(nameOf(SET)).toBe("Why?, 2 runs");
  expect(nameOf({ ...RUN, run: { index: 0, num: 4, settings: {} } })).toBe("Why?, Run 1 of 4");
});

it("gives the year only where it is another", () => {
  const now = new Date("2026-06-01T12:00:00Z");
  expect(when("2026-05-01T12:00:00Z", now)).not.toContain("2026");
  expect(when("2025-05-01T12:00:00Z", now)).toContain("2025");
  expect(day("2026-05-01T12:00:00Z", now)).not.toContain("2026");
  expect(moment("2026-05-01T12:00:00Z")).toContain("2026");
});
