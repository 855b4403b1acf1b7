import { expect, it } from "vitest";
import type { UserData } from "../../protocol/api";
import { erasureText, heldText } from "./words";

const DATA: UserData = {
  user_id: 3,
  name: "anna",
  goes: [],
  stays: [],
  erasure: null,
  begun_at: null,
  num_deleted: 1200,
  is_erased: false,
  is_last_superuser: false,
  may_export: true,
  may_erase: true,
};

it("counts what a person knows by name, and the rest together", () => {
  const rows = [
    { table: "chat.message", num: 1200 },
    { table: "chat.conversation", num: 1 },
    { table: "auth.user_groups", num: 2 },
    { table: "chat.delivery", num: 3 },
  ];
  expect(heldText(rows)).toBe("1 conversation, 1,200 messages, 5 other rows");
  expect(heldText([])).toBe("nothing");
});

it("says how far an erasure is", () => {
  expect(erasureText(DATA)).toBe("");
  expect(erasureText({ ...DATA, erasure: "stopping" })).toContain("blocked");
  expect(erasureText({ ...DATA, erasure: "searching" })).toContain("1,200 rows are deleted.");
  expect(erasureText({ ...DATA, erasure: "done", num_deleted: 1 })).toBe(
    "Erased. 1 row is deleted. The last search found nothing more.",
  );
});
