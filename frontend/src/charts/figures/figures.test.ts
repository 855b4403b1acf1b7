import { describe, expect, it } from "vitest";
import { figures, reportOf, usd } from "../fixtures";
import { currenciesOf, figuresOf } from "./figures";
import { axisText, change, changeOfShare, changeOfTime, valueOf } from "./words";

const named = (report = reportOf(), currency = "USD") =>
  Object.fromEntries(figuresOf(report, currency).map((figure) => [figure.name, figure]));

describe("the six figures", () => {
  it("say cost, its change and its course", () => {
    const { Cost, Requests } = named();
    expect(Cost).toMatchObject({ values: [{ text: "$4.00", change: "+100\u00a0%" }], line: [2e9, 0, 2e9] });
    expect(Requests).toMatchObject({ values: [{ text: "8" }], line: [4, 0, 4], note: "1 active user" });
  });

  it("have one amount per currency, and never a sum", () => {
    const cost = [...usd(4e9), { currency: "EUR", nano: 3e9 }];
    const report = reportOf({ now: figures({ num_requests: 2, cost }) });
    expect(currenciesOf(report)).toEqual(["EUR", "USD"]);
    expect(named(report)["Cost"]!.values.map(({ text }) => text)).toEqual(["€3.00", "$4.00"]);
  });

  it("call a cost without prices unknown, not zero", () => {
    const now = figures({ num_requests: 5, num_unpriced: 5 });
    const { Cost } = named(reportOf({ now, before: figures() }), "");
    expect(Cost).toMatchObject({ values: [{ text: "unknown" }], note: "5 without a price" });
  });

  it("call a time that no request has unknown", () =>
    expect(named()["First token, p95"]!.values).toEqual([{ text: "unknown", change: "" }]));

  it("say errors as a share of the requests", () =>
    expect(named()["Errors and refusals"]).toMatchObject({
      values: [{ text: "13\u00a0%", change: "+12.5\u00a0pts" }],
      note: "1 failed, 0 refused",
    }));
});

it("says changes in words", () => {
  expect([change(1, 1), change(5, 0), change(118, 100), change(1047, 1000), change(94, 100)]).toEqual([
    "no change",
    "new",
    "+18\u00a0%",
    "+4.7\u00a0%",
    "\u22126.0\u00a0%",
  ]);
  expect(change(50, 1)).toBe("50\u00a0times");
  expect(changeOfTime(100_000, 120_000)).toBe("\u221220.0\u00a0ms");
  expect(changeOfShare(0.5, 0.4999999)).toBe("no change");
});

it("measures errors as failed and refused requests", () => {
  const found = figures({ num_failed: 2, num_refused: 3, num_held_back: 9 });
  expect(valueOf(found, "errors", "")).toBe(5);
  expect(valueOf(found, "cost", "USD")).toBe(0);
});

it("keeps an axis short", () => {
  expect([0.5e9, 2e9, 1500e9].map(axisText("cost", "USD"))).toEqual(["$0.50", "$2", "$1.5K"]);
  expect(axisText("requests", "")(12_000)).toBe("12K");
  expect(axisText("cost", "credits")(2e9)).toBe("2");
});
