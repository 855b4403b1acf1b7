import { expect, it } from "vitest";
import { DESK_PAGES, deskPageAt, pagesFor } from "./pages";

it.each(DESK_PAGES.map(({ path }) => path))("finds the page at %s", (path) => {
  expect(deskPageAt(path)).toMatchObject({ page: { path }, rest: "" });
});

it.each(["/admin", "/admin/tables/", "/admin/billing/price/", "/usage", "/admin/nothing/at/all/"])(
  "leaves %s to others",
  (path) => expect(deskPageAt(path)).toBeNull(),
);

it("shows a user the pages that their permissions open, in their order", () => {
  expect(pagesFor([])).toEqual([]);
  expect(pagesFor(["usage.view_usagerecord"]).map(({ label }) => label)).toContain("Usage");
  expect(pagesFor(DESK_PAGES.map(({ permission }) => permission))).toEqual(DESK_PAGES);
});
