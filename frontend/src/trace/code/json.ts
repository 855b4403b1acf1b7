/** JSON and Python literals of a request's body. Both are safe to paste: no invisible or reordering character is raw. */

/** JSON text that stays as it is: a parser would put its names in another order. */
export class Raw {
  constructor(readonly json: string) {}
}

export type Json = string | number | boolean | null | Raw | Json[] | { [name: string]: Json };

// A shell may read "!" as a word of its history. The others are invisible or turn the direction of the text.
const UNSAFE = /[!\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const escaped = (json: string) =>
  json.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

interface Form {
  name: (name: string) => string;
  raw: (json: string) => string;
  words: Record<string, string>;
}

const JSON_FORM: Form = { name: (name) => `${text(name)}: `, raw: escaped, words: {} };
const PYTHON: Form = {
  name: (name) => `${text(name)}: `,
  raw: (json) => `json.loads(${text(json)})`,
  words: { true: "True", false: "False", null: "None" },
};

/** A JSON string is a string of Python too. */
const text = (value: string) => escaped(JSON.stringify(value));

export const toJson = (value: Json) => written(value, JSON_FORM, "");
export const toPython = (value: Json, indent = "") => written(value, PYTHON, indent);

function written(value: Json, form: Form, indent: string): string {
  if (value instanceof Raw) return form.raw(value.json);
  if (typeof value === "string") return text(value);
  if (value === null || typeof value !== "object") return form.words[String(value)] ?? JSON.stringify(value);
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const lines = isList
    ? value.map((each) => inner + written(each, form, inner))
    : Object.entries(value).map(([name, each]) => inner + form.name(name) + written(each, form, inner));
  const [open, close] = isList ? "[]" : "{}";
  return lines.length ? `${open}\n${lines.join(",\n")}\n${indent}${close}` : `${open}${close}`;
}
