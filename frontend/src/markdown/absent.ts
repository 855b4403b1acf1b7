/** In place of what sets formulas and colours code, in a page that stands alone: both are shown as they were written. */
export const typeset = (): null => null;
export const highlighted = (): null => null;
export const fetchGrammar = (): Promise<void> => Promise.resolve();
