/** Sets an answer's formulas and colours its code: heavy, so it is fetched when an answer first has some. */

export interface Parts {
  /** HTML of a formula; null: it is shown as it was written. */
  formula: (tex: string, isDisplay: boolean) => string | null;
  /** HTML of code; null: it is shown in one colour. */
  code: (text: string, language: string) => string | null;
}

export const NO_PARTS: Parts = { formula: () => null, code: () => null };

/** Limit for one answer: more would hold up the page. */
const MAX_FORMULAS = 500;

/** The parts of one answer; onFetched: the answer is to be rendered again. */
export class FetchedParts implements Parts {
  private math: typeof import("./math") | null = null;
  private highlight: typeof import("./highlight") | null = null;
  private readonly asked = new Set<string>();
  private readonly formulas = new Map<string, string | null>();

  constructor(private readonly onFetched: () => void) {}

  formula(tex: string, isDisplay: boolean): string | null {
    const { math, formulas } = this;
    if (!math) return this.fetch("math", async () => void (this.math = await import("./math")));
    const key = `${isDisplay}${tex}`;
    if (!formulas.has(key) && formulas.size < MAX_FORMULAS) formulas.set(key, math.typeset(tex, isDisplay));
    return formulas.get(key) ?? null;
  }

  code(text: string, language: string): string | null {
    // A language's name may still be growing where no code follows it.
    if (!language || !text) return null;
    const colored = this.highlight?.highlighted(text, language) ?? null;
    return colored ?? this.fetch(`code ${language}`, () => this.fetchGrammar(language));
  }

  private async fetchGrammar(language: string): Promise<void> {
    this.highlight ??= await import("./highlight");
    await this.highlight.fetchGrammar(language);
  }

  /** One load for each; if it fails, the text stays as it was written. */
  private fetch(name: string, load: () => Promise<void>): null {
    if (this.asked.has(name)) return null;
    this.asked.add(name);
    load().then(this.onFetched, () => {});
    return null;
  }
}
