// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { LimitsBody } from "../../protocol/api";
import { ApiError } from "../../transport/api";
import LimitsDialog from "./LimitsDialog.svelte";

const GIVEN: LimitsBody = {
  max_open: 4,
  requests_per_minute: null,
  input_tokens_per_minute: null,
  output_tokens_per_minute: null,
  tokens_per_day: null,
  daily_budget_nano: 2_500_000_000,
  monthly_budget_nano: null,
  may_share: false,
  may_probe: null,
  may_rerun: null,
};
let dialog: object;
let saved: LimitsBody[] = [];
let refused: Error | null = null;
const onClose = vi.fn();

beforeEach(() => {
  [saved, refused] = [[], null];
  HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) {
    this.open = true;
  };
  const onSave = (body: LimitsBody) => {
    saved.push(body);
    return refused ? Promise.reject(refused) : Promise.resolve();
  };
  dialog = mount(LimitsDialog, {
    target: document.body,
    props: { name: "alice", limits: GIVEN, onSave, onClose },
  });
  flushSync();
});
afterEach(() => unmount(dialog));

function field(name: string): HTMLInputElement | HTMLSelectElement {
  const labels = [...document.querySelectorAll("label")];
  const found = labels.find((each) => each.textContent.includes(name))?.querySelector("input, select");
  return found as HTMLInputElement | HTMLSelectElement;
}

function write(name: string, value: string) {
  const input = field(name);
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  flushSync();
}

async function submit() {
  document.querySelector("form")!.dispatchEvent(new Event("submit", { cancelable: true, bubbles: true }));
  await Promise.resolve();
  await Promise.resolve();
  flushSync();
}

const alerts = () => [...document.querySelectorAll("[role=alert]")].map((each) => each.textContent.trim());

it("shows the rule, budgets in units of money", () => {
  expect(field("Requests at once").value).toBe("4");
  expect(field("Budget of a day").value).toBe("2.50");
  expect(field("Requests a minute").value).toBe("");
});

it("saves the whole rule; an empty field names no limit", async () => {
  write("Requests at once", "");
  write("Budget of a day", "0.75");
  await submit();
  expect(saved).toEqual([{ ...GIVEN, max_open: null, daily_budget_nano: 750_000_000 }]);
});

it("names what is no number at its field, and saves nothing", async () => {
  write("Requests at once", "many");
  await submit();
  expect(saved).toEqual([]);
  expect(alerts().length).toBe(1);
  expect(field("Requests at once").getAttribute("aria-invalid")).toBe("true");
});

it("shows the server's refusal at its field, or below all fields", async () => {
  refused = new ApiError(400, { code: "invalid", message: "max_open is too large.", field: "max_open" });
  await submit();
  expect(alerts()).toEqual(["max_open is too large."]);
  expect(field("Requests at once").getAttribute("aria-invalid")).toBe("true");
  refused = new Error("The server does not answer.");
  await submit();
  expect(alerts()).toEqual(["The server does not answer."]);
});
