import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Deletions, PartlyDeleted } from "./deletions.svelte";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const sends = () => vi.fn(() => Promise.resolve());

it("sends a deletion once, when its time is over", () => {
  const deletions = new Deletions();
  const send = sends();
  deletions.start("a", "A", send);
  expect(deletions.gone.has("a")).toBe(true);
  expect(send).not.toHaveBeenCalled();
  vi.runAllTimers();
  void deletions.commit();
  expect(send).toHaveBeenCalledOnce();
  expect(deletions.pending).toBeNull();
  expect(deletions.gone.has("a")).toBe(true);
});

it("sends nothing that was undone", () => {
  const deletions = new Deletions();
  const send = sends();
  deletions.start("a", "A", send);
  deletions.undo();
  vi.runAllTimers();
  expect(send).not.toHaveBeenCalled();
  expect(deletions.gone.has("a")).toBe(false);
});

it("sends the first when a second begins, and waits while it is paused", () => {
  const deletions = new Deletions();
  const [first, second] = [sends(), sends()];
  deletions.start("a", "A", first);
  deletions.start("b", "B", second);
  expect(first).toHaveBeenCalledOnce();
  deletions.pause();
  vi.runAllTimers();
  expect(second).not.toHaveBeenCalled();
  deletions.resume();
  vi.runAllTimers();
  expect(second).toHaveBeenCalledOnce();
});

it("shows again what the server refused to delete, and says why", async () => {
  const deletions = new Deletions();
  deletions.start("a", "A", () => Promise.reject(new Error("Stop it first.")));
  void deletions.commit();
  await vi.runAllTimersAsync();
  expect(deletions.gone.has("a")).toBe(false);
  expect(deletions.problem).toContain("Stop it first.");
});

it("shows again what is left where some were deleted, in the words of whoever knows how many", async () => {
  const deletions = new Deletions();
  const send = () => Promise.reject(new PartlyDeleted("1 of 2 traces was not deleted."));
  deletions.start("a", "2 traces", send, "", ["a", "b"]);
  void deletions.commit();
  await vi.runAllTimersAsync();
  expect([...deletions.gone]).toEqual([]);
  expect(deletions.problem).toBe("1 of 2 traces was not deleted.");
});

it("waits for what the timer has sent and the server has not answered, too", async () => {
  const deletions = new Deletions();
  let answer!: () => void;
  deletions.start("a", "A", () => new Promise<void>((resolve) => (answer = resolve)));
  vi.runAllTimers();
  const onSettled = vi.fn();
  void deletions.commit().then(onSettled);
  deletions.start("b", "B", sends());
  void deletions.commit().then(onSettled);
  await vi.runAllTimersAsync();
  expect(onSettled).not.toHaveBeenCalled();
  answer();
  await vi.runAllTimersAsync();
  expect(onSettled).toHaveBeenCalledTimes(2);
});
