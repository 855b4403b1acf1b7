import { beforeEach, expect, it } from "vitest";
import { keepWritten, writtenIn } from "./unsent";

beforeEach(() => sessionStorage.clear());

const REFUSED = { id: "u", text: "Hello", editedId: null, refusal: { message: "No.", setting: null } };

it("keeps what was written in each conversation, and in the one that has not begun", () => {
  keepWritten(null, { draft: "A beginning", unsent: [] });
  keepWritten("c", { draft: "", unsent: [REFUSED] });
  expect(writtenIn(null)).toEqual({ draft: "A beginning", unsent: [] });
  expect(writtenIn("c")).toEqual({ draft: "", unsent: [REFUSED] });
  expect(writtenIn("d")).toEqual({ draft: "", unsent: [] });
  keepWritten("c", { draft: "", unsent: [] });
  expect(sessionStorage).toHaveLength(1);
});

it("says of a message that was on its way that it may have arrived", () => {
  keepWritten("c", { draft: "", unsent: [{ ...REFUSED, refusal: null }] });
  expect(writtenIn("c").unsent[0]!.refusal!.message).toContain("may have arrived");
});
