/** The model that the exhibits run, and its tokenizer. */
import { buildCutter, loadDefinition, type Cutter, type Definition } from "../tokenizer/cutter";
import type { Model, Session } from "../protocol/api";

export function modelOf({ models, default_model }: Session): Model {
  return models.find(({ id }) => id === default_model)!;
}

/** Load the tokenizer of the exhibits' model. Rejects with Error. */
export async function loadTokenizer(session: Session): Promise<{ definition: Definition; cutter: Cutter }> {
  const definition = await loadDefinition(modelOf(session).tokenizer_url);
  return { definition, cutter: buildCutter(definition) };
}

/** The token's word for a sentence, without the space that the token begins with. */
export const wordOf = (label: string): string => label.replaceAll("·", " ").trim() || label;
