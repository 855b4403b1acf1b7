import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";
import { ALIAS } from "./vite.alias.ts";
import { compress } from "./vite.compress.ts";

/** Every browser that runs the page reads WOFF2: the older forms of KaTeX's fonts are left out. */
const woff2Only = {
  name: "woff2-only",
  enforce: "pre" as const,
  transform: (code: string, id: string) =>
    id.endsWith("katex.css")
      ? code.replaceAll(/, url\([^)]*\.(?:woff|ttf)\) format\("(?:woff|truetype)"\)/g, "")
      : undefined,
};

export default defineConfig({
  plugins: [woff2Only, svelte(), compress()],
  base: "/static/app/",
  build: {
    outDir: "../webapp/static/app",
    emptyOutDir: true,
    manifest: true,
    // Inlined assets would be data: URLs, which our content security policy refuses for fonts.
    assetsInlineLimit: 0,
    // Swagger UI comes as one file; only /api/docs loads it.
    chunkSizeWarningLimit: 1700,
    rollupOptions: { input: ["src/main.ts", "src/api-docs.ts"] },
  },
  resolve: { conditions: ["browser"], alias: [ALIAS] },
  test: { environment: "node", include: ["src/**/*.test.ts"], testTimeout: 60_000 },
});
