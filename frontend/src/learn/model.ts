/** The model that the exhibits run, and its tokenizer. */
import { buildCutter, loadDefinition, type Cutter, type Definition } from "../tokenizer/cutter";
import type { Model, Session } from "../protocol/api";

export function modelOf({ models, default_model }: Session): Model {
  return models.find(({ id }) => id === default_model)!;
}

/** Rejects with Error. */
export async function loadTokenizer(session: Session): Promise<{ definition: Definition; cutter: Cutter }> {
  const definition = await loadDefinition(modelOf(session).tokenizer_url);
  return { definition, cutter: buildCutter(definition) };
}

/** For a sentence: a space that a token begins with belongs to it, and is drawn as a gap. */
export const wordOf = (label: string): string => label.replaceAll("·", " ").trim() || label;
