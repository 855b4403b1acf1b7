import { expect, it } from "vitest";
import type { Message } from "../../protocol/api";
import { branch, newestLeaf, siblings } from "./tree";

const message = (id: string, parent_id: string | null, role: Message["role"]): Message => ({
  id,
  parent_id,
  role,
  text: id,
  key: null,
  created_at: "",
  request_id: null,
  is_imported: false,
  thinking: null,
  calls: [],
  files: [],
  model: null,
  status: null,
  error: null,
  figures: null,
  forked_from: null,
  fork_position: null,
  num_kept: null,
});

const TREE = [
  message("q1", null, "user"),
  message("a1", "q1", "assistant"),
  message("a2", "q1", "assistant"),
  message("q2", "a1", "user"),
  message("b2", "q2", "assistant"),
];

it("follows one branch from the root to its leaf", () => {
  expect(branch(TREE, "b2").map(({ id }) => id)).toEqual(["q1", "a1", "q2", "b2"]);
  expect(branch(TREE, "a2").map(({ id }) => id)).toEqual(["q1", "a2"]);
  expect(branch(TREE, "")).toEqual([]);
});

it("knows siblings and the newest end of a branch", () => {
  expect(siblings(TREE, TREE[1]!).map(({ id }) => id)).toEqual(["a1", "a2"]);
  expect(newestLeaf(TREE, TREE[1]!)).toBe("b2");
});
