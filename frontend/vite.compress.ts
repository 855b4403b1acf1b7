/** Writes each built file once more as Brotli and as gzip, which WhiteNoise sends where a client takes them. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Plugin } from "vite";

/** Fonts and pictures are compressed by their own formats. */
const COMPRESSIBLE = /\.(css|html|js|json|svg|txt)$/;
/** Below it, one packet carries the file either way. */
const LEAST_BYTES = 1000;

export function compress(): Plugin {
  return {
    name: "sightglass:compress",
    apply: "build",
    async writeBundle(options, bundle) {
      const folder = options.dir!;
      const files = Object.values(bundle).filter(({ fileName }) => isServed(fileName));
      await Promise.all(
        files.map((file) =>
          writeBoth(
            join(folder, file.fileName),
            Buffer.from(file.type === "chunk" ? file.code : file.source),
          ),
        ),
      );
    },
  };
}

/** The manifest is read by the server alone. */
function isServed(name: string): boolean {
  return COMPRESSIBLE.test(name) && !name.startsWith(".vite/");
}

async function writeBoth(path: string, content: Buffer): Promise<void> {
  if (content.length < LEAST_BYTES) return;
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
  await writeFile(`${path}.br`, await promisify(brotliCompress)(content, { params }));
  await writeFile(`${path}.gz`, await promisify(gzip)(content, { level: 9 }));
}
