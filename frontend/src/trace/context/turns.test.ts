import { expect, it } from "vitest";
import fc from "fast-check";
import type { CacheLookedUp, ContextAssembled, ContextCompared } from "../../protocol/events";
import { cachedOf, segmentChanges, totals } from "./turns";

const SIZES = fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 12 });

it("says of every segment what became of it, and loses no token", () => {
  fc.assert(
    fc.property(
      SIZES,
      fc.infiniteStream(fc.constantFrom("unchanged", "added", "changed")),
      (sizes, stream) => {
        const kinds = sizes.map(() => stream.next().value as string);
        let start = 0;
        const segments = sizes.map((size) => ({ start, end: (start += size) }));
        const of = (kind: string) => kinds.flatMap((each, index) => (each === kind ? [index] : []));
        const context = { segments } as unknown as ContextAssembled;
        const changed = of("changed").map((index) => ({ index, num_tokens: 1, text: "" }));
        const compared = {
          added: of("added"),
          changed,
          removed: [{ num_tokens: 4 }],
        } as unknown as ContextCompared;
        expect(segmentChanges(context, compared)).toEqual(kinds);
        const { unchanged, added, changed: numChanged, removed } = totals(context, compared);
        expect(unchanged + added + numChanged).toBe(start);
        expect(removed).toBe(4);
      },
    ),
  );
});

it("tells what the cache had beyond the turn before as another request's", () => {
  const had = (num_cached_tokens: number) =>
    cachedOf({ num_cached_tokens } as CacheLookedUp, { num_common_tokens: 70 } as ContextCompared, 90);
  expect(had(64)).toBe("it had 64");
  expect(had(89)).toBe(
    "it had 89: 19 more came from another request, such as another answer to the same message",
  );
  // A fork reads behind its prompt, and what the cache has of that is no other request's.
  expect(had(96)).toBe("it had 96, 6 of them of the answer that this one continues");
});
