/** The traces to compare: their address, their order, and the reason why a choice is not valid. */
import type { PlacedRequest } from "../../protocol/api";

export const MOST = 6;

export function compareAddress(ids: string[]): string {
  return `/compare?ids=${ids.join(",")}`;
}

type Dated = Pick<PlacedRequest, "id" | "created_at" | "answer" | "run">;

/** The ids, oldest first. One message's answers, or one set's runs, begin together and keep their own order. */
export function inOrder(traces: Dated[]): string[] {
  const place = ({ answer, run }: Dated) => run?.index ?? answer?.index ?? 0;
  return [...traces]
    .sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at) || place(a) - place(b))
    .map(({ id }) => id);
}

/** A part of a row, as long as can be compared, that includes the given place. */
export function around<T>(row: T[], place: number): T[] {
  const from = Math.max(0, Math.min(place - MOST + 1, row.length - MOST));
  return row.slice(from, from + MOST);
}

/** The reason why these cannot be compared; empty when they can, also when there are too few yet. */
export function problemOf(ids: string[]): string {
  if (new Set(ids).size < ids.length) return "The same trace is named twice. Choose two different ones.";
  if (ids.length > MOST) return `${ids.length} traces are too many; at most ${MOST} can be compared.`;
  return "";
}
