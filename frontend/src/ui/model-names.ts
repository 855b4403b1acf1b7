/** The names that operators gave to models, for all parts of a page. A model without one is called by its id. */
import { createContext } from "svelte";

const [read, write, has] = createContext<{ readonly names: Readonly<Record<string, string>> }>();

export const provideModelNames = write;

/** The function that names a model. To be called while a component is made. */
export function modelNames(): (model: string) => string {
  const found = has() ? read() : null;
  return (model) => (found && Object.hasOwn(found.names, model) ? found.names[model]! : model);
}

/** The name with the id beside it; the id alone where the model has no other name. */
export function fullName(model: string, nameOf: (model: string) => string): string {
  const name = nameOf(model);
  return name === model ? model : `${name} (${model})`;
}
