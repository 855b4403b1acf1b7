/** A small part of JSONPath (RFC 9535) over events: `$.name`, `[0]`, `[*]`, `.*`, and one comparison at the end. */

type Part = { kind: "name"; name: string } | { kind: "index"; index: number } | { kind: "all" };
type Comparison = "==" | "!=" | "<=" | ">=" | "<" | ">";

export interface JsonPath {
  parts: Part[];
  /** Null: any value matches. */
  test: { comparison: Comparison; value: unknown } | null;
}

/** A path's error, for people, and its place, from 0. */
export class PathError extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(`${message} (at character ${at + 1})`);
  }
}

/** Raises PathError. */
export function parsePath(text: string): JsonPath {
  let at = 0;
  const parts: Part[] = [];
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (!found) return null;
    at = pattern.lastIndex;
    return found[1] ?? found[0];
  };
  take(/\s*/y);
  if (take(/\$/y) === null) throw new PathError("A path begins with $, as in $.step_us", at);
  for (;;) {
    let found: string | null;
    if (take(/\.\*|\[\*\]/y) !== null) parts.push({ kind: "all" });
    else if ((found = take(/\.([A-Za-z_]\w*)/y)) !== null) parts.push({ kind: "name", name: found });
    else if ((found = take(/\[(\d{1,9})\]/y)) !== null) parts.push({ kind: "index", index: Number(found) });
    else if ((found = take(/\['([^']*)'\]/y)) !== null) parts.push({ kind: "name", name: found });
    else break;
  }
  take(/\s*/y);
  if (at === text.length) return { parts, test: null };
  const comparison = take(/==|!=|<=|>=|<|>/y) as Comparison | null;
  if (!comparison)
    throw new PathError("Expected .name, [0], [*], ['name'] or a comparison (==, !=, <, <=, >, >=)", at);
  take(/\s*/y);
  try {
    return { parts, test: { comparison, value: JSON.parse(text.slice(at)) as unknown } };
  } catch {
    throw new PathError("Expected a number, a text in double quotes, true, false or null", at);
  }
}

/** The values that the path leads to and that pass its comparison; empty: none. */
export function follow({ parts, test }: JsonPath, root: unknown): unknown[] {
  let values = [root];
  for (const part of parts) values = values.flatMap((value) => children(value, part));
  return test ? values.filter((value) => passes(value, test.comparison, test.value)) : values;
}

function children(value: unknown, part: Part): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if (part.kind === "all") return Object.values(value);
  if (part.kind === "index")
    return Array.isArray(value) && part.index < value.length ? [value[part.index]] : [];
  return Object.hasOwn(value, part.name) ? [(value as Record<string, unknown>)[part.name]] : [];
}

/** Numbers compare with numbers and texts with texts; nothing else is less or greater. */
function passes(value: unknown, comparison: Comparison, wanted: unknown): boolean {
  if (comparison === "==") return value === wanted;
  if (comparison === "!=") return value !== wanted;
  if (typeof value !== typeof wanted || (typeof value !== "number" && typeof value !== "string"))
    return false;
  const [one, other] = [value, wanted as typeof value];
  if (comparison === "<") return one < other;
  if (comparison === "<=") return one <= other;
  return comparison === ">" ? one > other : one >= other;
}
