import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";
import { ALIAS } from "./vite.alias.ts";
import { compress } from "./vite.compress.ts";

export default defineConfig({
  plugins: [svelte(), compress()],
  base: "/static/app/",
  build: {
    outDir: "../webapp/static/app",
    emptyOutDir: true,
    manifest: true,
    // Inlined assets would be data: URLs, which our content security policy refuses for fonts.
    assetsInlineLimit: 0,
    rollupOptions: { input: "src/main.ts" },
  },
  resolve: { conditions: ["browser"], alias: [ALIAS] },
  test: { environment: "jsdom", include: ["src/**/*.test.ts"] },
});
