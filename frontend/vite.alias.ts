/** Where markdown-it finds the one function that it takes from the package `entities`. */
import { fileURLToPath } from "node:url";

export const ALIAS = {
  find: /^entities$/,
  replacement: fileURLToPath(new URL("src/markdown/character-references.ts", import.meta.url)),
};
