/** JSON and Python literals of a request's body. Both are safe to paste: no invisible or reordering character is raw. */

/**
 * JSON text whose names and numbers stay as they are: a parser would put names in another order. The constructor throws
 * SyntaxError for any other text: a trace from elsewhere may hold a program where JSON belongs.
 */
export class Raw {
  constructor(readonly json: string) {
    JSON.parse(json);
  }
}

export type Json = string | number | boolean | null | Raw | Json[] | { [name: string]: Json };

// Invisible characters, and those that turn the direction of the text.
const UNSAFE = /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const codeOf = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

interface Form {
  text: (value: string) => string;
  words: Record<string, string>;
}

const escaped = (value: string) => JSON.stringify(value).replace(UNSAFE, codeOf);
/** A shell may read "!" as a word of its history. */
const JSON_FORM: Form = { text: (value) => escaped(value).replaceAll("!", "\\u0021"), words: {} };
/** A JSON string is a string of Python too. */
const PYTHON: Form = { text: escaped, words: { true: "True", false: "False", null: "None" } };

export const toJson = (value: Json) => written(value, JSON_FORM, "");
export const toPython = (value: Json, indent = "") => written(value, PYTHON, indent);

function written(value: Json, form: Form, indent: string): string {
  if (value instanceof Raw) return rewritten(value.json, form, indent);
  if (typeof value === "string") return form.text(value);
  if (value === null || typeof value !== "object") return form.words[String(value)] ?? JSON.stringify(value);
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const lines = isList
    ? value.map((each) => inner + written(each, form, inner))
    : Object.entries(value).map(
        ([name, each]) => `${inner}${form.text(name)}: ${written(each, form, inner)}`,
      );
  const [open, close] = isList ? "[]" : "{}";
  return lines.length ? `${open}\n${lines.join(",\n")}\n${indent}${close}` : `${open}${close}`;
}

/** Of valid JSON alone: a token without quotes is a sign, a number, true, false or null. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

/** JSON text in a form, token by token: the order of names and the digits of numbers stay. */
function rewritten(json: string, form: Form, indent: string): string {
  let [found, depth] = ["", 0];
  const line = () => `\n${indent}${"  ".repeat(depth)}`;
  const tokens = json.match(TOKEN) ?? [];
  tokens.forEach((token, index) => {
    const isEmpty = "]}".includes(tokens[index + 1] ?? "-");
    if (token === "{" || token === "[") {
      depth += 1;
      found += isEmpty ? token : token + line();
    } else if (token === "}" || token === "]") {
      depth -= 1;
      found += "{[".includes(tokens[index - 1] ?? "-") ? token : line() + token;
    } else if (token === ",") found += token + line();
    else if (token === ":") found += ": ";
    else if (token.startsWith('"')) found += form.text(JSON.parse(token) as string);
    else found += form.words[token] ?? token;
  });
  return found;
}

/** The members of a JSON object, each value as it is written. Throws SyntaxError where the text is no JSON object. */
export function membersOf(json: string): [name: string, value: Raw][] {
  const read: unknown = JSON.parse(json);
  if (typeof read !== "object" || read === null || Array.isArray(read))
    throw new SyntaxError("This is no JSON object.");
  const found: [string, Raw][] = [];
  let [depth, name, value] = [0, "", ""];
  for (const token of json.match(TOKEN) ?? []) {
    if (token === "}" || token === "]") depth -= 1;
    if (depth === 1 && token === ":" && !value) continue;
    if (depth === 0 || (depth === 1 && token === ",")) {
      if (value) found.push([name, new Raw(value)]);
      [name, value] = ["", ""];
    } else if (!name && !value && depth === 1) name = token;
    else value += token;
    if (token === "{" || token === "[") depth += 1;
  }
  return found.map(([key, each]) => [JSON.parse(key) as string, each]);
}
