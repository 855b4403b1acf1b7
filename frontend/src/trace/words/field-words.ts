/** An event's recorded facts, for people: its fields' names in words, times with their unit, tokens as their text. */
import type { AnyEvent } from "../../protocol/events";
import { HIDDEN, pieceLabel, REDACTED_PIECE } from "../bytes";
import { count, duration } from "../format";

/** Longer lists are given by their length: the Events panel has them whole. */
const MOST = 6;

const NAMES: Record<string, string> = {
  position: "token",
  id: "token id",
  ids: "token ids",
  piece: "text",
  pieces: "texts",
  candidate_pieces: "candidates",
  logprob: "log-probability",
  u: "draw u",
  low: "interval from",
  high: "interval to",
  ttl: "time to live",
  is_special: "control token",
  is_shown: "shown by the server",
};
/** Events whose `start` is a place, counted from 0. */
const PLACED = new Set(["prefill.advanced", "safety.checked"]);
const PIECES = new Set(["piece", "pieces", "candidate_pieces"]);

export function fieldWords(event: AnyEvent): [name: string, value: string][] {
  const isRedacted = JSON.stringify(event).includes(REDACTED_PIECE);
  return Object.entries(event)
    .filter(([name]) => name !== "type" && name !== "at")
    .map(([name, value]) => {
      if (isRedacted && (name === "id" || name.endsWith("ids"))) return [nameOf(name), HIDDEN];
      const isPlace = name === "position" || (name === "start" && PLACED.has(event.type));
      return [nameOf(name), valueOf(name, isPlace ? (value as number) + 1 : (value as unknown))];
    });
}

function nameOf(name: string): string {
  return (
    NAMES[name] ??
    name
      .replace(/^(num|is)_/, "")
      .replace(/_us$/, "")
      .replaceAll("_", " ")
  );
}

function valueOf(name: string, value: unknown): string {
  if (value === null) return "not recorded";
  if (Array.isArray(value))
    return value.length > MOST
      ? `${count(value.length)} values`
      : value.map((each) => valueOf(name, each)).join(", ") || "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return numberWords(name, value);
  if (typeof value === "string") return (PIECES.has(name) ? pieceLabel(value) : value) || "none";
  return partWords(value as Record<string, unknown>);
}

function numberWords(name: string, value: number): string {
  if (name.endsWith("_us")) return duration(value);
  if (!Number.isInteger(value)) return String(Number(value.toPrecision(4)));
  return name.startsWith("num_") ? count(value) : String(value);
}

function partWords(part: Record<string, unknown>): string {
  const { name, category, ...rest } = part;
  const figures = Object.entries(rest).map(([key, value]) => `${nameOf(key)} ${valueOf(key, value)}`);
  const title = name ?? category;
  return `${typeof title === "string" ? `${title.replaceAll("_", " ")}: ` : ""}${figures.join("; ")}`;
}
