/** The page that replays one trace with no server: one script and one style sheet, which an export inlines. */
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { ALIAS } from "./vite.alias.ts";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [svelte()],
  publicDir: false,
  build: {
    outDir: "../webapp/static/app/replay",
    emptyOutDir: true,
    cssCodeSplit: false,
    rollupOptions: {
      input: "src/replay.ts",
      // The panels, which the app fetches on demand, stand in the one script here: there is nothing to resolve.
      transform: { define: { "import.meta": "{}" } },
      output: {
        format: "iife",
        codeSplitting: false,
        entryFileNames: "replay.js",
        assetFileNames: "replay[extname]",
      },
    },
  },
  resolve: {
    conditions: ["browser"],
    alias: [
      ALIAS,
      // Formulas stand as they were written: their fonts and what sets them would make each file larger by half.
      { find: /^\.\/(math|highlight)$/, replacement: `${import.meta.dirname}/src/markdown/absent.ts` },
    ],
  },
});
