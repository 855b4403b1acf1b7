/**
 * Stands in for the package `entities` in markdown-it (vite.config.ts), by the browser's own table of names.
 *
 * The package brings that table along, which is a tenth of the first load's script.
 */

const holder = document.createElement("textarea");

/** reference: one as a whole, `&amp;`. A text that is no reference stays as it is. */
export function decodeHTMLStrict(reference: string): string {
  // A text area's content is text: no element comes of it, whatever it says.
  holder.innerHTML = reference;
  const text = holder.textContent;
  // For an unknown name, HTML takes a beginning that is known, and leaves the rest with its semicolon.
  const isWhole = !text.endsWith(";") || reference === "&semi;";
  return isWhole ? text : reference;
}
