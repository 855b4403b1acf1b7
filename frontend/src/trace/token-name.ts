/** A token's name: one name in every place. */
import type { TokenSampled } from "../protocol/events";
import { END_OF_TURN, HIDDEN, pieceLabel, REDACTED_PIECE } from "./bytes";
import type { TraceView } from "./view";

/** The name of a token that was generated. */
export const nameOf = ({ is_special, piece }: Pick<TokenSampled, "is_special" | "piece">): string =>
  is_special ? END_OF_TURN : pieceLabel(piece);

/** A name as a word of a sentence: without the marks of its spaces, where anything else is left. */
export const asWord = (name: string): string => name.replaceAll("·", " ").trim() || name;

/** As it stands in a sentence. */
export const quotedName = (token: Pick<TokenSampled, "is_special" | "piece">): string =>
  token.is_special ? `the ${END_OF_TURN}` : `“${asWord(pieceLabel(token.piece))}”`;

/** A redacted trace's ids are places in a list, which name no token. */
export function isRedacted({ prompt, forked, tokens }: TraceView): boolean {
  const pieces = [prompt?.pieces[0], forked?.pieces[0], ...tokens.slice(0, 2).map(({ piece }) => piece)];
  return pieces.includes(REDACTED_PIECE);
}

export function idText(view: TraceView, id: number): string {
  return isRedacted(view) ? HIDDEN : String(id);
}

/** The name of a candidate or guess; `among`: the token at its place. Control tokens have no text, or their name. */
export function tokenName(view: TraceView, id: number, piece: string, among?: TokenSampled | null): string {
  if (among?.is_special && among.id === id) return END_OF_TURN;
  if (isRedacted(view) || piece === REDACTED_PIECE) return HIDDEN;
  if (view.tokens.some((token) => token.is_special && token.id === id)) return END_OF_TURN;
  const { prompt } = view;
  const named = prompt?.special.find((index) => prompt.ids[index] === id);
  const name = named === undefined ? "" : prompt!.pieces[named]!;
  return pieceLabel(piece) || pieceLabel(name) || `control ${id}`;
}
