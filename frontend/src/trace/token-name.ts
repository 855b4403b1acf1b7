/** What a token is called: one name wherever it is shown. */
import type { TokenSampled } from "../protocol/events";
import { HIDDEN, pieceLabel, REDACTED_PIECE } from "./bytes";
import type { TraceView } from "./view";

export const END_OF_TURN = "end of turn";

/** A redacted trace's ids are places in a list, which name no token. */
export function isRedacted({ prompt, forked, tokens }: TraceView): boolean {
  const pieces = [prompt?.pieces[0], forked?.pieces[0], ...tokens.slice(0, 2).map(({ piece }) => piece)];
  return pieces.includes(REDACTED_PIECE);
}

export function idText(view: TraceView, id: number): string {
  return isRedacted(view) ? HIDDEN : String(id);
}

/** Of a candidate or guess; `among`: the token for whose place it stood. Control tokens have no text, or their name. */
export function tokenName(view: TraceView, id: number, piece: string, among?: TokenSampled | null): string {
  if (among?.is_special && among.id === id) return END_OF_TURN;
  if (isRedacted(view) || piece === REDACTED_PIECE) return HIDDEN;
  if (view.tokens.some((token) => token.is_special && token.id === id)) return END_OF_TURN;
  const { prompt } = view;
  const named = prompt?.special.find((index) => prompt.ids[index] === id);
  const name = named === undefined ? "" : prompt!.pieces[named]!;
  return pieceLabel(piece) || pieceLabel(name) || `control ${id}`;
}
