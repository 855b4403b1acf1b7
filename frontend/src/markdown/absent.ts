/** Stands in for typesetting and code colours in a page that stands alone: both parts are shown as written. */
export const typeset = (): null => null;
export const highlighted = (): null => null;
export const fetchGrammar = (): Promise<void> => Promise.resolve();
