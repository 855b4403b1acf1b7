import { expect, it } from "vitest";
import { ApiError } from "../../transport/api";
import { refusalOf } from "./settings";

const refused = (message: string, field?: string) =>
  refusalOf(new ApiError(400, { code: "invalid", message, field }));

it.each([
  ["top_p must be greater than 0.", "params.top_p", "Top-p must be greater than 0.", "top_p"],
  ["json_schema cannot be used: x.", "params.json_schema", "JSON Schema cannot be used: x.", "json_schema"],
  ["Expected `int` - at `$.params.top_k`", "params.top_k", "Expected `int` - at `$.params.top_k`", "top_k"],
  ["stop takes at most 4 texts.", "params.stop", "stop takes at most 4 texts.", null],
  ["The message is empty.", "text", "The message is empty.", null],
  ["There is no such page.", undefined, "There is no such page.", null],
  ["constructor is nothing.", "params.constructor", "constructor is nothing.", null],
])("says %s of %s with the dialog's label", (message, field, said, setting) => {
  expect(refused(message, field)).toEqual({ message: said, setting });
});
