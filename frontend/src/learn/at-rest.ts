/** Ask once nothing has moved for a moment, and show the answer unless something has moved since; made for an $effect. */

const REST_MS = 120;

/** fail: with the reason, or without one once an answer is shown. Returns a function that ends the asking. */
export function askAtRest<Answer>(
  ask: () => Promise<Answer>,
  show: (answer: Answer) => void,
  fail: (problem: string) => void,
): () => void {
  let isOvertaken = false;
  const timer = setTimeout(() => void answer(), REST_MS);
  async function answer() {
    try {
      const found = await ask();
      if (isOvertaken) return;
      show(found);
      fail("");
    } catch (error) {
      if (!isOvertaken) fail(error instanceof Error ? error.message : String(error));
    }
  }
  return () => {
    isOvertaken = true;
    clearTimeout(timer);
  };
}
