/** The prompt's tokens that come from untrusted text: files, results of tools, and memories. */
import { allCalls, type TraceView } from "../view";

/** Texts that the safety policy checks as data, and never as the user's wish. */
export type TaintKind = "attachment" | "result" | "memory";

export const TAINT_NAMES: Record<TaintKind, string> = {
  attachment: "document",
  result: "tool result",
  memory: "memory",
};

export interface TaintSource {
  /** From 1, in the prompt's order. */
  number: number;
  kind: TaintKind;
  /** First token, as an index into the prompt, and one past the last. */
  start: number;
  end: number;
  /** The kind, and which document or call. */
  label: string;
}

const isTaint = (kind: string): kind is TaintKind => kind in TAINT_NAMES;

/** Of the generation shown, in the prompt's order. */
export function taintSources(view: TraceView): TaintSource[] {
  const found: TaintSource[] = [];
  const names = namesOf(view);
  for (const { kind, source, start, end } of view.context?.segments ?? []) {
    if (!isTaint(kind) || end <= start) continue;
    const name = nameOf(kind, source, names);
    const label = name ? `${TAINT_NAMES[kind]} · ${name}` : TAINT_NAMES[kind];
    found.push({ number: found.length + 1, kind, start, end, label });
  }
  return found;
}

/** Each prompt token's source; null: it comes from none. */
export function taintOf(numTokens: number, sources: TaintSource[]): (TaintSource | null)[] {
  const found = new Array<TaintSource | null>(numTokens).fill(null);
  for (const source of sources) found.fill(source, source.start, source.end);
  return found;
}

/** The names of files and called tools, by the source of their segments. */
function namesOf(view: TraceView): Map<string, string> {
  return new Map([
    ...(view.attached?.files ?? []).map(({ id, name }) => [`attachment:${id}`, name] as const),
    ...allCalls(view).map(({ call_id, name }) => [`tool:${call_id}`, name] as const),
  ]);
}

function nameOf(kind: TaintKind, source: string, names: Map<string, string>): string {
  // A file's source goes on with the numbers of its passages.
  const [key, passages] = kind === "attachment" ? source.split("#") : [source];
  const name = names.get(key!);
  if (name) return passages ? `${name}, passages ${passages}` : name;
  return kind === "result" && source.startsWith("message:") ? "of an earlier answer" : "";
}
