/** In which order the library lists: in its address, as the API has it, and in words. Pure. */
import { changed, textOf } from "./filters";

export interface Sort {
  field: string;
  /** The largest, or the latest, first. */
  isDescending: boolean;
}

export interface Sortable {
  field: string;
  label: string;
  /** The words for the first row, descending and ascending. */
  first: [string, string];
}

const SIZES: [string, string] = ["most first", "fewest first"];
const TIMES: [string, string] = ["longest first", "shortest first"];

/** In the order of the columns. */
export const SORTABLE = {
  when: { field: "created_at", label: "When", first: ["newest first", "oldest first"] },
  input: { field: "num_input_tokens", label: "Input", first: SIZES },
  output: { field: "num_output_tokens", label: "Output", first: SIZES },
  firstText: { field: "first_text_us", label: "First text", first: TIMES },
  duration: { field: "duration_us", label: "Duration", first: TIMES },
  cost: { field: "cost_nano", label: "Cost", first: ["highest first", "lowest first"] },
} satisfies Record<string, Sortable>;

const NEWEST: Sort = { field: SORTABLE.when.field, isDescending: true };

export function sortOf(query: string): Sort {
  const text = textOf(query, "sort");
  return text ? { field: text.replace(/^-/, ""), isDescending: text.startsWith("-") } : NEWEST;
}

export function withSort(query: string, { field, isDescending }: Sort): string {
  const isUsual = field === NEWEST.field && isDescending;
  return changed(query, "sort", isUsual ? "" : `${isDescending ? "-" : ""}${field}`);
}

/** After its column's head was pressed: the largest first, and then the other way round. */
export function pressed(query: string, field: string): string {
  const now = sortOf(query);
  return withSort(query, { field, isDescending: now.field !== field || !now.isDescending });
}
