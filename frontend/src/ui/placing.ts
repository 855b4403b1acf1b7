/** The place of a menu beside its button, within the room that it may cover. Pure. */

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Place {
  left: number;
  top: number;
  maxHeight: number;
}

/** Free pixels around a menu. */
export const GAP = 4;

/** Below the button, or above where there is more room; it scrolls where it is higher than that. */
export function placed(at: Box, room: Box, { width, height }: { width: number; height: number }): Place {
  const below = room.bottom - at.bottom - 2 * GAP;
  const above = at.top - room.top - 2 * GAP;
  const isBelow = height <= below || below >= above;
  const maxHeight = Math.max(0, isBelow ? below : above);
  const top = isBelow ? at.bottom + GAP : at.top - GAP - Math.min(height, maxHeight);
  const first = room.left + GAP;
  const wanted = at.right - width < first ? at.left : at.right - width;
  return { left: Math.max(first, Math.min(wanted, room.right - width - GAP)), top, maxHeight };
}
