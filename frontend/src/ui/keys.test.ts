// @vitest-environment jsdom
import { describe, expect, it, vi } from "vitest";
import { SHEET } from "../app/sheet";
import { keyLabel, press, type Binding } from "./keys";

const pressed = (key: string, init: KeyboardEventInit = {}) => new KeyboardEvent("keydown", { key, ...init });

describe("a table of keys", () => {
  const [plain, shifted, mod] = [vi.fn(), vi.fn(), vi.fn()];
  const table: Binding<number>[] = [
    { keys: ["m"], says: "a", run: plain },
    { keys: ["Shift+m"], says: "b", run: shifted },
    { keys: ["Mod+k"], says: "c", run: mod },
    { keys: ["w"], says: "d", run: () => false },
  ];

  it("finds a key by itself, with Shift, and with Ctrl or ⌘", () => {
    expect(press(table, pressed("m"), 1)).toBe(true);
    expect(press(table, pressed("M", { shiftKey: true }), 2)).toBe(true);
    expect(press(table, pressed("k", { metaKey: true }), 3)).toBe(true);
    expect(press(table, pressed("K", { ctrlKey: true }), 4)).toBe(true);
    expect(
      [plain, shifted, mod].map((each) => each.mock.calls.map(([context]) => context as number)),
    ).toEqual([[1], [2], [3, 4]]);
  });

  it("leaves what is not its own, and what it declines", () => {
    expect(press(table, pressed("k"), 0)).toBe(false);
    expect(press(table, pressed("m", { ctrlKey: true }), 0)).toBe(false);
    expect(press(table, pressed("m", { altKey: true }), 0)).toBe(false);
    expect(press(table, pressed("w"), 0)).toBe(false);
  });
});

describe("the sheet", () => {
  const modules = import.meta.glob<Record<string, unknown>>("../**/keys.ts", { eager: true });
  const tables = Object.values(modules).flatMap((module) =>
    Object.entries(module).filter(([name]) => name.endsWith("_KEYS")),
  );
  const components = Object.entries(
    import.meta.glob<string>("../**/*.svelte", { eager: true, query: "?raw", import: "default" }),
  );

  it("shows every table once", () => {
    const shown = SHEET.map(({ bindings }) => bindings as unknown);
    expect(new Set(shown).size).toBe(shown.length);
    expect(new Set(tables.map(([, table]) => table))).toEqual(new Set(shown));
    expect(new Set(SHEET.map(({ title }) => title)).size).toBe(SHEET.length);
  });

  it.each(tables.map(([name]) => name))("%s is what a component acts by", (name) => {
    const handler = new RegExp(`press\\([^;]*\\b${name}\\b`);
    expect(components.some(([, source]) => handler.test(source))).toBe(true);
  });

  it.each(components.filter(([, source]) => source.includes("onkeydown")))(
    "no key that %s handles is missing from it",
    (_, source) => {
      expect(source).toMatch(/\bpress\(/);
      expect(source).not.toMatch(/\bevent\.(key|code|keyCode)\b/);
    },
  );
});

it("writes keys as they stand on the keyboard", () => {
  expect(["Mod+k", "Shift+m", " ", "ArrowLeft", "+", "?"].map(keyLabel)).toEqual([
    "Ctrl or ⌘ + K",
    "Shift + M",
    "Space",
    "←",
    "+",
    "?",
  ]);
});

it.each(SHEET.map((table) => [table.title, table] as const))(
  "%s: no key stands for two things",
  (_, { bindings }) => {
    const keys = bindings.flatMap((binding) => binding.keys);
    expect(new Set(keys).size).toBe(keys.length);
    for (const { says } of bindings) expect(says).toMatch(/^[A-Z].*[^.]$/);
  },
);
