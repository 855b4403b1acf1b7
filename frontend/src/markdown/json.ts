/** An answer that is JSON, not prose. */

/** True when all of a text is one JSON object or array; a lone number or word is prose. */
export function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** As a block of code, with its own lines. It has no end, so that text can follow; no line of JSON begins with a fence. */
export function asCode(text: string): string {
  return `\`\`\`json\n${text}`;
}
