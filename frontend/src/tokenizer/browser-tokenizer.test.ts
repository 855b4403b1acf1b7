/** The ids in the golden corpus are the server's; tests/inference/tokenization holds them against llama.cpp's. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { buildCounter } from "./browser-tokenizer";

const ROOT = new URL("../../..", `file://${import.meta.dirname}/`).pathname;
const PYTHON = process.env.SIGHTGLASS_PYTHON ?? `${ROOT}.venv/bin/python`;

it("gives the server's ids on the whole corpus", () => {
  const script = `
from inference.tokenization.bundled import bundled_model
from inference.tokenization.gguf_metadata import read_metadata
from inference.tokenization.tokenizer import Tokenizer
print(Tokenizer(read_metadata(bundled_model())).to_json())`;
  const definition = execFileSync(PYTHON, ["-c", script], {
    cwd: ROOT,
    maxBuffer: 1 << 26,
    encoding: "utf8",
  });
  const corpus = JSON.parse(readFileSync(`${ROOT}tests/golden/tokenizer_corpus.json`, "utf8")) as {
    text: string;
    ids: number[];
  }[];
  const counter = buildCounter(JSON.parse(definition));
  const different = corpus.filter(({ text, ids }) => counter.encode(text).join() !== ids.join());
  expect(different.map(({ text }) => text)).toEqual([]);
});
