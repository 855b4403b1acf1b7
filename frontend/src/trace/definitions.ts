/** The definitions of tools as a prompt has them, one a line: see webapp/ground/context/tools.py. */
export interface Declared {
  name: string;
  description: string;
  /** JSON Schema, as JSON text. */
  parameters: string;
}

const DEFINITION = /^\{"name": "([^"]*)"(?:, "description": ("(?:[^"\\]|\\.)*"))?, "parameters": (.*)\}$/;

/** The name of the tool that a line of a prompt declares; null: it declares none. */
export const nameIn = (line: string): string | null => DEFINITION.exec(line)?.[1] ?? null;

/** The tool that a line declares; null: it declares none. Throws SyntaxError where its description is no JSON. */
export function definitionIn(line: string): Declared | null {
  const found = DEFINITION.exec(line);
  if (!found) return null;
  const [, name, description, parameters] = found;
  return {
    name: name!,
    description: description ? (JSON.parse(description) as string) : "",
    parameters: parameters!,
  };
}
