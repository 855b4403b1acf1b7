/** The sentences that the exhibit begins with, and the model's tasks on them. */

export interface Riddle {
  /** The knowledge that the riddle needs. */
  name: string;
  text: string;
  /** Text after the sentence, which the model can only continue with one of the two. */
  lead: string;
  /** The possible next words, each with its space. */
  words: [string, string];
  /** The index of the word that makes sense. */
  right: 0 | 1;
}

const WORDS: [string, string] = [" trophy", " suitcase"];

/** After Levesque's Winograd schemas: one word changes the meaning of “it”. */
export const TROPHY: Riddle[] = [
  {
    name: "too big",
    text: "The trophy didn't fit in the suitcase because it was too big.",
    lead: " The thing that was too big was the",
    words: WORDS,
    right: 0,
  },
  {
    name: "too small",
    text: "The trophy didn't fit in the suitcase because it was too small.",
    lead: " The thing that was too small was the",
    words: WORDS,
    right: 1,
  },
];

/** Sentences of the same tokens, in which the order alone tells the animal that runs away. */
export const CHASE: Riddle[] = [
  {
    name: "the cat first",
    text: "The cat chased the dog.",
    lead: " The animal that ran away was the",
    words: [" cat", " dog"],
    right: 1,
  },
  {
    name: "the dog first",
    text: "The dog chased the cat.",
    lead: " The animal that ran away was the",
    words: [" cat", " dog"],
    right: 0,
  },
];

export const NEAR_WORDS = "cat, kitten, dog, car, democracy";

/** Number of sentences in which the model names the word that makes sense. */
export function numUnderstood(riddles: readonly Riddle[], chances: readonly (readonly number[])[]): number {
  return riddles.filter(({ right }, index) => chances[index]![right]! > chances[index]![1 - right]!).length;
}

/** The answers' verdict on the model, in a sentence. */
export function verdictOf(riddles: readonly Riddle[], chances: readonly (readonly number[])[]): string {
  const num = numUnderstood(riddles, chances);
  if (num === riddles.length) return "The model names the right one both times: it understood the sentence.";
  const [first, second] = chances.map(([one, other]) => (one! > other! ? 0 : 1));
  const named = riddles[0]!.words[first!].trim();
  if (first === second)
    return `The model puts “${named}” first both times. A model this small does not understand the sentences.`;
  return "The model has them the wrong way round. A model this small does not understand the sentences.";
}
