import { expect, it } from "vitest";
import { reportOf } from "../charts/fixtures";
import { namedModels } from "../charts/panels/tables";
import { fullName } from "./model-names";

const nameOf = (model: string) => (model === "large" ? "<b>Big</b>" : model);

it("shows the id beside another name, and once where the model has none", () => {
  expect(fullName("large", nameOf)).toBe("<b>Big</b> (large)");
  expect(fullName("small", nameOf)).toBe("small");
});

it("names the models of a report, and neither the group of all others nor another column", () => {
  const rest = { ...reportOf().groups[0]!, key: "", label: "3 others" };
  const report = namedModels(reportOf({ groups: [...reportOf().groups, rest] }), nameOf);
  expect(report.groups.map(({ key, label }) => [key, label])).toEqual([
    ["large", "<b>Big</b> (large)"],
    ["", "3 others"],
  ]);
  expect(report.models).toEqual([{ key: "large", label: "<b>Big</b> (large)" }]);
  const byUser = reportOf({ by: "user", groups: [{ ...rest, key: "large", label: "user large" }] });
  expect(namedModels(byUser, nameOf).groups[0]!.label).toBe("user large");
});
