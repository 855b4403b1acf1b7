/** Rules of thumb about tokens, and the true figures of a text. Pure. */

export interface Sizes {
  numChars: number;
  numWords: number;
  numTokens: number;
}

/** Words are the parts between spaces. */
export function sizesOf(text: string, numTokens: number): Sizes {
  return {
    numChars: [...text].length,
    numWords: text.split(/\s+/u).filter(Boolean).length,
    numTokens,
  };
}

export const charsPerToken = ({ numChars, numTokens }: Sizes): number => numChars / Math.max(1, numTokens);
export const tokensPerWord = ({ numTokens, numWords }: Sizes): number => numTokens / Math.max(1, numWords);

export interface Rule {
  says: string;
  /** The figure that it gives, and of this text. */
  told: number;
  of: (sizes: Sizes) => number;
  unit: string;
  digits: number;
}

const WORDS_ON_A_PAGE = 300;

export const RULES: Rule[] = [
  { says: "A token is 4 characters", told: 4, of: charsPerToken, unit: "characters", digits: 1 },
  { says: "A word is 1.3 tokens", told: 1.3, of: tokensPerWord, unit: "tokens", digits: 2 },
  {
    says: "1,000 words are 1,300 tokens",
    told: 1300,
    of: (sizes) => 1000 * tokensPerWord(sizes),
    unit: "tokens",
    digits: 0,
  },
  {
    says: "A million tokens are 750,000 words",
    told: 750_000,
    of: (sizes) => 1e6 / tokensPerWord(sizes),
    unit: "words",
    digits: 0,
  },
  {
    says: `A million tokens are 2,500 pages of ${WORDS_ON_A_PAGE} words`,
    told: 2500,
    of: (sizes) => 1e6 / tokensPerWord(sizes) / WORDS_ON_A_PAGE,
    unit: "pages",
    digits: 0,
  },
];

/** The text's size over the rule's: 1.5 is half as much again. */
export function timesOf({ of, told }: Rule, sizes: Sizes): number {
  return of(sizes) / told;
}

/** The verdict in words; a rule holds within a quarter. */
export function judged(times: number): string {
  if (times <= 1.25 && times >= 0.8) return "holds";
  return times > 1 ? `${times.toFixed(1)} times as much` : `${(1 / times).toFixed(1)} times less`;
}

/** Kinds of text to hold against the rules, of our own writing. */
export const SAMPLES = [
  {
    name: "Prose",
    text: "The harbour was quiet in the morning. Two boats lay at the pier, and an old man mended his net as he had done every day for forty years. When the wind turned he looked up, folded the net and walked home, for he knew that it would rain before noon.",
  },
  {
    name: "Code",
    text: 'def mean(values: list[float]) -> float:\n    """The middle of the values; 0 of none."""\n    if not values:\n        return 0.0\n    return sum(values) / len(values)\n\n\nprint(mean([3.5, 4.25, 8.0]))',
  },
  {
    name: "JSON",
    text: '{"id":"ord_81723","items":[{"sku":"A-1093","qty":2,"price":19.95},{"sku":"B-7720","qty":1,"price":149.0}],"paid":true,"at":"2026-03-14T09:26:53Z"}',
  },
  {
    name: "Numbers",
    text: "3.14159265358979 2.71828182845905 1.41421356237310 1.61803398874989 0.57721566490153 299792458",
  },
  {
    name: "German",
    text: "Der Hafen war am Morgen still. Zwei Boote lagen am Steg, und ein alter Mann flickte sein Netz, wie er es seit vierzig Jahren jeden Tag getan hatte. Als der Wind drehte, blickte er auf und ging nach Hause.",
  },
  {
    name: "Chinese",
    text: "早晨的港口很安静。两条船停在码头边，一位老人正在补他的渔网，四十年来他每天都这样做。风向一变，他抬起头，收好渔网回家去了，因为他知道中午之前会下雨。",
  },
] as const;
