// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { PARAMS } from "../trace/fixtures";
import type { Preset } from "../protocol/api";
import type { Refusal, SettingsDraft } from "../state/conversation/settings";
import SettingsDialog from "./SettingsDialog.svelte";

let dialog: object;
/** The server's refusal of the settings; null: it accepts them. */
let refused: { message: string; field: string; problems?: object[] } | null;
/** The server's notes on settings that it accepts. */
let notes: object[];
let checked: { params: object; n: number; system_prompt: string }[];
/** The next check is answered when the test says so. */
let answer: (() => void) | null;
let isHeld: boolean;
/** The user's own presets on the server. */
let presets: Preset[] = [];
const DEFAULTS = { id: "m", default_params: PARAMS, default_system_prompt: "Be brief.", thinks: false };
const given = {
  systemPrompt: "",
  windowPolicy: "drop" as const,
  defaults: DEFAULTS,
  maxAnswers: 8,
  onClose: vi.fn(),
};
let params = PARAMS;
let n = 1;
let draft: SettingsDraft | null = null;

function open(refusals: Refusal[] = []) {
  const props = {
    ...given,
    refusals,
    get draft() {
      return draft;
    },
    set draft(value) {
      draft = value;
    },
    get n() {
      return n;
    },
    set n(value) {
      n = value;
    },
    get params() {
      return params;
    },
    set params(value) {
      params = value;
    },
  };
  dialog = mount(SettingsDialog, { target: document.body, props });
  flushSync();
}

/** As in a browser: the dialog is gone at once, and the event comes with the next frame. */
function closeSoon(this: HTMLDialogElement) {
  setTimeout(() => this.dispatchEvent(new Event("close")), 100);
}

beforeEach(() => {
  // jsdom has no modal dialogs.
  HTMLDialogElement.prototype.showModal ??= () => {};
  HTMLDialogElement.prototype.close = closeSoon;
  refused = null;
  notes = presets = [];
  checked = [];
  answer = null;
  isHeld = false;
  vi.stubGlobal("fetch", (path: string, { body }: { body: string }) => {
    if (path === "/api/presets") return Promise.resolve(new Response(JSON.stringify({ presets })));
    checked.push(JSON.parse(body) as (typeof checked)[0]);
    const problem = JSON.stringify({ error: { code: "invalid", ...refused } });
    const response = refused
      ? new Response(problem, { status: 400 })
      : new Response(JSON.stringify({ notes }));
    if (!isHeld) return Promise.resolve(response);
    return new Promise((resolve) => (answer = () => resolve(response)));
  });
  params = PARAMS;
  n = 1;
  draft = null;
  given.onClose.mockReset();
  open();
});
afterEach(() => {
  vi.unstubAllGlobals();
  return unmount(dialog);
});

const field = <T extends HTMLElement>(name: string) =>
  [...document.querySelectorAll("label")]
    .find((label) => label.textContent!.trim().startsWith(name))!
    .querySelector<T>("input, textarea, select")!;

function enter(name: string, value: string) {
  const control = field<HTMLInputElement>(name);
  control.value = value;
  control.dispatchEvent(new Event(control.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
  flushSync();
}

const focused = (name: string) => vi.waitFor(() => expect(document.activeElement).toBe(field(name)));

/** As Escape does. */
function leave() {
  document.querySelector("dialog")!.dispatchEvent(new Event("close"));
  flushSync();
}

const button = (name: string) =>
  [...document.querySelectorAll("button")].find((each) => each.textContent.trim() === name)!;

/** Done, and the messages then shown at the fields. */
const primary = () => document.querySelector("button.primary")!.textContent;

async function finish(): Promise<string[]> {
  document.querySelector<HTMLElement>("button.primary")!.click();
  await vi.waitFor(() => {
    flushSync();
    expect(primary()).not.toBe("Checking");
  });
  return [...document.querySelectorAll('[role="alert"]')].map(({ textContent }) => textContent.trim());
}

it("asks for a schema only when one is wanted, and does not send the server what is not JSON", async () => {
  enter("Form of the answer", "json_schema");
  enter("JSON Schema", '{"type": ');
  expect((await finish())[0]).toContain("JSON Schema is not valid JSON");
  await focused("JSON Schema");
  // All else is asked about at once, without it.
  expect(checked).toMatchObject([{ params: { json_schema: null } }]);
  enter("JSON Schema", '{"type": "object"}');
  expect(await finish()).toEqual([]);
  expect(params).toMatchObject({ json_schema: '{"type": "object"}', regex: null });
});

it("forgets the schema when the answer is free again", async () => {
  enter("Form of the answer", "regex");
  enter("Regular expression", "yes|no");
  enter("Form of the answer", "free");
  enter("Typical-p", "0.9");
  await finish();
  expect(params).toMatchObject({ json_schema: null, regex: null, typical_p: 0.9 });
});

it("asks the server before the settings hold, and leads to the field that it refuses", async () => {
  enter("Form of the answer", "regex");
  enter("Regular expression", "(?=a)");
  refused = { message: "regex cannot be used: look-around; change it.", field: "params.regex" };
  expect(await finish()).toEqual(["Regular expression cannot be used: look-around; change it."]);
  await focused("Regular expression");
  expect(field("Regular expression").getAttribute("aria-invalid")).toBe("true");
  expect(checked[0]).toMatchObject({ params: { regex: "(?=a)" }, n: 1, system_prompt: "" });
  expect([params, given.onClose.mock.calls]).toEqual([PARAMS, []]);

  refused = { message: "temperature must be between 0 and 5.", field: "params.temperature" };
  expect(await finish()).toEqual(["Temperature must be between 0 and 5."]);
  await focused("Temperature");

  refused = { message: "stop takes at most 4 texts.", field: "params.stop" };
  expect(await finish()).toEqual(["Sightglass cannot save these settings yet: stop takes at most 4 texts."]);
  refused = null;
  await finish();
  expect(given.onClose).toHaveBeenLastCalledWith(true);
});

it.each([
  ["Temperature", "", "Temperature must be a number."],
  ["Top-k", "1.5", "Top-k must be a whole number."],
  ["Answers", "", "Answers must be a number."],
])("sends no %s of “%s” to the server", async (name, value, said) => {
  enter(name, value);
  expect(await finish()).toEqual([said]);
  await focused(name);
  expect(checked).toMatchObject([{ params: { temperature: PARAMS.temperature, top_k: PARAMS.top_k }, n: 1 }]);
});

it("tells all that is wrong at once, each at its field, and leads to the first", async () => {
  enter("Seed", "1.5");
  enter("Temperature", "9");
  enter("Top-p", "0");
  const at = (name: string, says: string) => ({ message: `${name} ${says}`, field: `params.${name}` });
  const [hot, none] = [at("temperature", "must be between 0 and 5."), at("top_p", "must be greater than 0.")];
  refused = {
    ...hot,
    problems: [none, hot, { message: "stop takes at most 4 texts.", field: "params.stop" }],
  };
  expect(new Set(await finish())).toEqual(
    new Set([
      "Seed must be a whole number.",
      "Temperature must be between 0 and 5.",
      "Top-p must be greater than 0.",
      "Sightglass cannot save these settings yet: stop takes at most 4 texts.",
    ]),
  );
  await focused("Temperature");
  expect(checked).toHaveLength(1);
});

it("says of a longest answer that the window does not hold, and keeps it with the next press", async () => {
  notes = [{ message: "max_tokens is more than this model can give.", field: "params.max_tokens" }];
  enter("Longest answer", "9000");
  expect(await finish()).toEqual([]);
  await focused("Longest answer");
  const said = document.getElementById(field("Longest answer").getAttribute("aria-describedby")!)!;
  expect(said.textContent).toBe(
    "Longest answer is more than this model can give. Not saved yet. Press “Keep it” to save it anyway.",
  );
  expect(primary()).toBe("Keep it");
  enter("Temperature", "0.123");
  await vi.waitFor(() => expect(primary()).toBe("Done"));
  expect(given.onClose).not.toHaveBeenCalled();
  await finish();
  expect([params.max_tokens, given.onClose.mock.calls]).toEqual([9000, [[true]]]);
});

it("takes a note back where the next check fails, and does not have it read twice", async () => {
  notes = [{ message: "max_tokens is more than this model can give.", field: "params.max_tokens" }];
  enter("Longest answer", "9000");
  await finish();
  expect(document.body.textContent).toContain("Longest answer is more than this model can give.");
  refused = { message: "temperature must be between 0 and 5.", field: "params.temperature" };
  enter("Longest answer", "10");
  enter("Temperature", "9");
  expect(await finish()).toEqual(["Temperature must be between 0 and 5."]);
  expect(document.body.textContent).not.toContain("more than this model can give");
  refused = null;
  enter("Longest answer", "9000");
  enter("Temperature", "1");
  await finish();
  expect([params.max_tokens, given.onClose.mock.calls]).toEqual([9000, [[true]]]);
});

it("takes numbers between the arrow keys' steps, and as many answers as the server gives", async () => {
  enter("Temperature", "0.333");
  expect(field<HTMLInputElement>("Answers").max).toBe("8");
  await finish();
  expect(params.temperature).toBe(0.333);
});

it("keeps what was entered when it is closed before it is valid, and says what is wrong", async () => {
  enter("Form of the answer", "json_schema");
  enter("JSON Schema", '{"type": ');
  enter("System prompt", "In rhyme.");
  enter("Answers", "3");
  leave();
  expect(params).toBe(PARAMS);
  expect(given.onClose).toHaveBeenLastCalledWith(false);
  expect(draft).toMatchObject({ problems: [{ setting: "json_schema" }], schema: '{"type": ' });
  expect(draft!.problems[0]!.message).toContain("JSON Schema is not valid JSON");

  void unmount(dialog);
  open(draft!.problems);
  expect(field<HTMLTextAreaElement>("JSON Schema").value).toBe('{"type": ');
  expect(field<HTMLTextAreaElement>("System prompt").value).toBe("In rhyme.");
  await focused("JSON Schema");
  enter("JSON Schema", "{}");
  await finish();
  expect([params.json_schema, n]).toEqual(["{}", 3]);
  expect(draft).toBeNull();
});

it("keeps nothing where nothing was changed, or where it was cancelled", () => {
  leave();
  expect(draft).toBeNull();
  enter("Top-p", "0.5");
  button("Cancel").click();
  expect([draft, params]).toEqual([null, PARAMS]);
});

it("keeps nothing that was not checked: what is changed meanwhile is checked in its turn", async () => {
  enter("Temperature", "0.7");
  isHeld = true;
  button("Done").click();
  await vi.waitFor(() => expect(answer).not.toBeNull());
  enter("Temperature", "0.9");
  isHeld = false;
  refused = { message: "temperature must not be that.", field: "params.temperature" };
  answer!();
  await focused("Temperature");
  expect(checked.map((each) => each.params)).toMatchObject([{ temperature: 0.7 }, { temperature: 0.9 }]);
  expect([params, given.onClose.mock.calls]).toEqual([PARAMS, []]);
  refused = null;
  await finish();
  expect(params.temperature).toBe(0.9);
});

it("asks once, and keeps the focus where it was pressed when no field is to blame", async () => {
  button("Done").focus();
  isHeld = true;
  refused = { message: "The server could not be reached.", field: "" };
  button("Done").click();
  flushSync();
  button("Checking").click();
  await vi.waitFor(() => expect(answer).not.toBeNull());
  expect(document.activeElement).toBe(button("Checking"));
  answer!();
  await vi.waitFor(() => {
    flushSync();
    expect(document.activeElement).toBe(button("Done"));
  });
  expect(checked).toHaveLength(1);
});

it("leads back to Done where Enter in a field was refused for no field's sake", async () => {
  field("Temperature").focus();
  refused = { message: "The server could not be reached.", field: "" };
  document.querySelector("form")!.requestSubmit();
  await vi.waitFor(() => expect(document.activeElement).toBe(document.querySelector("button.primary")));
});

it("goes back to what a new chat begins with, the system prompt too", () => {
  enter("System prompt", "Speak like a pirate.");
  enter("Temperature", "1.5");
  button("Reset").click();
  flushSync();
  expect(field<HTMLTextAreaElement>("System prompt").value).toBe("Be brief.");
  expect(Number(field<HTMLInputElement>("Temperature").value)).toBe(PARAMS.temperature);
});

const press = (name: string) =>
  [...document.querySelectorAll("button")].find(({ textContent }) => textContent === name)!.click();

it("applies a preset that comes with the product with one press, and leaves the system prompt", async () => {
  press("Wild");
  await vi.waitFor(() => expect(given.onClose).toHaveBeenCalledWith(true, "Wild"));
  expect(params).toEqual({ ...PARAMS, temperature: 1.2, top_p: 1, min_p: 0.05 });
  const asked = {
    params,
    n: 1,
    system_prompt: "",
    memory: true,
    speculation: true,
    window_policy: "drop",
    model: "m",
  };
  expect(checked).toEqual([asked]);
});

it("applies a preset of the user's own, whose parameters may be fewer than there are today", async () => {
  await unmount(dialog);
  const saved = { temperature: 1.5, regex: "a+" } as Preset["params"];
  presets = [{ id: 1, name: "Mine", params: saved, n: 3, system_prompt: "Be mine." }];
  open();
  await vi.waitFor(() => press("Mine"));
  await vi.waitFor(() => expect(given.onClose).toHaveBeenCalledWith(true, "Mine"));
  expect([params, n]).toEqual([{ ...PARAMS, ...saved }, 3]);
  expect(checked.at(-1)!.system_prompt).toBe("Be mine.");
});

it("keeps the dialog open with a preset that the server refuses", async () => {
  refused = { message: "temperature is too much.", field: "params.temperature" };
  press("Wild");
  await vi.waitFor(() => expect(document.body.textContent).toContain("Temperature is too much."));
  expect(given.onClose).not.toHaveBeenCalled();
  expect(params).toEqual(PARAMS);
});
