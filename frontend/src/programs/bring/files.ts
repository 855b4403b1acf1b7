/** A dropped file as text: bounded, and valid UTF-8. Pure but for the reading. */

/** As the server has it. */
export const MOST_BYTES = 768 * 1024;

/** Why a text of this size is not taken; empty: it is. */
export function sizeProblem(numBytes: number): string {
  if (numBytes <= MOST_BYTES) return "";
  const [is, most] = [numBytes, MOST_BYTES].map(
    (each) => `${Math.ceil(each / 1024).toLocaleString("en-US")} KiB`,
  );
  return `The text has ${is}; ${most} can be taken apart. Shorten it.`;
}

export async function textOf(file: Blob): Promise<{ text: string; problem: string }> {
  const problem = sizeProblem(file.size);
  if (problem) return { text: "", problem };
  const bytes = new Uint8Array(await file.arrayBuffer());
  const text = decoded(bytes);
  if (text !== null) return { text, problem: "" };
  const place = `byte ${(firstWrong(bytes) + 1).toLocaleString("en-US")}`;
  return { text: "", problem: `The file is no UTF-8 text: ${place} cannot be read. Save it as UTF-8.` };
}

function decoded(bytes: Uint8Array, isWhole = true): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !isWhole });
  } catch {
    return null;
  }
}

/** The first byte that makes the text invalid: all shorter beginnings can still become valid. */
export function firstWrong(bytes: Uint8Array): number {
  let [valid, wrong] = [0, bytes.length];
  while (wrong - valid > 1) {
    const middle = Math.floor((valid + wrong) / 2);
    if (decoded(bytes.subarray(0, middle), false) === null) wrong = middle;
    else valid = middle;
  }
  return Math.max(0, wrong - 1);
}
