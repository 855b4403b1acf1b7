/** Asks a question once its inputs have rested, and shows the answer if they still rest. Made for an $effect. */

const REST_MS = 120;

/** Return a function that ends the asking. fail: called with the reason, or with "" once an answer is shown. */
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
