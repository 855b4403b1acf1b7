// @vitest-environment jsdom
import { beforeEach, expect, it } from "vitest";
import type { Message } from "../../protocol/api";
import { Outboxes } from "./outbox.svelte";

beforeEach(() => sessionStorage.clear());

const NO = { message: "No.", setting: null };
const question = (key: string | null, text: string) => ({ key, role: "user", text }) as Message;
/** As a reload finds what was written. */
const reloaded = (user = 1) => new Outboxes(user);

function texts(conversation: string | null, outboxes = reloaded()) {
  return outboxes.of(conversation).messages.map(({ text }) => text);
}

it("keeps what was written in each conversation, and in the one that has not begun", () => {
  const outboxes = new Outboxes(1);
  outboxes.of(null).draft = "A beginning";
  const outbox = outboxes.of("c");
  outbox.refuse(outbox.add("Hello", null), NO, true);
  expect(reloaded().of(null)).toMatchObject({ draft: "A beginning", messages: [] });
  expect(reloaded().of("c").messages).toMatchObject([{ text: "Hello", refusal: NO }]);
  expect(reloaded().of("d")).toMatchObject({ draft: "", messages: [] });
  outbox.remove(outbox.messages[0]!.id);
  expect(sessionStorage).toHaveLength(1);
});

it("keeps nothing for the next user of the tab, nor for anybody who signs out", () => {
  const outboxes = new Outboxes(1);
  outboxes.of(null).draft = "Mine";
  const late = outboxes.of("c").add("Mine, too", null);
  expect(reloaded(12).of(null).draft).toBe("");
  expect(sessionStorage).toHaveLength(0);
  outboxes.of(null).draft = "Mine again";
  outboxes.close();
  // A message on its way fails when the page is left.
  outboxes.of("c").refuse(late, NO, false);
  expect(sessionStorage).toHaveLength(0);
});

it("goes along with the chat that begins, and leaves the next one empty", () => {
  const outboxes = new Outboxes(1);
  const outbox = outboxes.of(null);
  outbox.draft = "Next";
  outboxes.begin("c");
  expect(outboxes.of("c")).toBe(outbox);
  expect([outboxes.of(null).draft, reloaded().of("c").draft]).toEqual(["", "Next"]);
});

it("goes with its conversation, and is there again where that could not be deleted", () => {
  const outbox = new Outboxes(1).of("c");
  outbox.draft = "A draft";
  outbox.forget();
  expect(reloaded().of("c").draft).toBe("");
  outbox.keep();
  expect(reloaded().of("c").draft).toBe("A draft");
});

it("says after a reload whether a message can have arrived", () => {
  const outboxes = new Outboxes(1);
  for (const conversation of [null, "c"]) {
    const outbox = outboxes.of(conversation);
    outbox.add("Not posted", null);
    outbox.post(outbox.add("Posted", null), "c");
  }
  const said = (conversation: string | null) =>
    reloaded()
      .of(conversation)
      .messages.map(({ refusal }) => refusal!.message);
  expect(said("c")[0]).toBe("You left the page before it sent this message.");
  expect(said("c")[1]).toContain("has not appeared here yet");
  expect(said(null)[1]).toContain("look in the list of chats");
});

it("finds among the messages what has arrived, and nothing that only says the same", () => {
  const outboxes = new Outboxes(1);
  const outbox = outboxes.of("c");
  const { id } = outbox.add("Again", null);
  outbox.post(outbox.messages[0]!, "c");
  // As long as it is on its way, its own reply tells of it.
  outbox.removeTaken([question(id, "Again")]);
  expect(texts("c", outboxes)).toEqual(["Again"]);
  outbox.refuse(outbox.messages[0]!, NO, false);
  outbox.removeTaken([question(null, "Again"), question("other", "Again")]);
  expect(texts("c", outboxes)).toEqual(["Again"]);
  outbox.removeTaken([question(id, "Again")]);
  expect([texts("c", outboxes), texts("c")]).toEqual([[], []]);
});

it("is the same message however often it is sent, and another once it says something else", () => {
  const outbox = new Outboxes(1).of("c");
  const unsent = outbox.add("Hello", null);
  const { id } = unsent;
  outbox.post(unsent, "c");
  outbox.refuse(unsent, NO, true);
  expect(unsent.posted).toBeNull();
  outbox.post(unsent, "c");
  outbox.refuse(unsent, NO, false);
  outbox.again(unsent, "Hello");
  expect([unsent.id, unsent.posted]).toEqual([id, "c"]);
  outbox.again(unsent, "Hello there");
  expect(unsent.posted).toBeNull();
  expect(unsent.id).not.toBe(id);
});
