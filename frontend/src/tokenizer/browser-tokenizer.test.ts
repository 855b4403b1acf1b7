/** The ids in the golden corpus are the server's; tests/inference/tokenization holds them against llama.cpp's. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { buildCounter } from "./browser-tokenizer";

const ROOT = new URL("../../..", `file://${import.meta.dirname}/`).pathname;
const PYTHON = process.env.SIGHTGLASS_PYTHON ?? `${ROOT}.venv/bin/python`;

const CORPUS = `${ROOT}tests/golden/tokenizer_corpus.json`;

/** Stands for the model's metadata in Python; each kind of vocabulary has its own steps in the browser's library. */
const VOCABULARIES = {
  "the bundled model": "metadata",
  "Llama 3's pattern": 'replace(metadata, pre="llama-bpe")',
  "Qwen2's pattern": 'replace(metadata, pre="qwen2")',
  SentencePiece: 'read_metadata(write_sentencepiece(Path(folder) / "model.gguf"))',
};

function build(metadata: string): { definition: string; ids: number[][] } {
  const script = `
import json, tempfile
from dataclasses import replace
from pathlib import Path
from inference.tokenization.bundled import bundled_model
from inference.tokenization.gguf_metadata import read_metadata
from inference.tokenization.tokenizer import Tokenizer
from tests.inference.tokenization.vocabulary_files import write_sentencepiece
metadata = read_metadata(bundled_model())
with tempfile.TemporaryDirectory() as folder:
    tokenizer = Tokenizer(${metadata})
rows = json.loads(Path("${CORPUS}").read_text("utf-8"))
print(json.dumps({"definition": tokenizer.to_json(), "ids": [tokenizer.encode(row["text"]) for row in rows]}))`;
  const output = execFileSync(PYTHON, ["-c", script], { cwd: ROOT, maxBuffer: 1 << 26, encoding: "utf8" });
  return JSON.parse(output) as { definition: string; ids: number[][] };
}

describe.each(Object.entries(VOCABULARIES))("%s", (_, metadata) => {
  it("gives the server's ids on the whole corpus", { timeout: 60_000 }, () => {
    const { definition, ids } = build(metadata);
    const counter = buildCounter(JSON.parse(definition));
    const corpus = JSON.parse(readFileSync(CORPUS, "utf8")) as { text: string; ids: number[] }[];
    if (metadata === "metadata") expect(ids).toEqual(corpus.map((row) => row.ids));
    const different = corpus.filter(({ text }, row) => counter.encode(text).join() !== ids[row]?.join());
    expect(different.map(({ text }) => text)).toEqual([]);
  });
});
