/** Light, dark, or as the system has it; saved in this browser. */
export type Theme = "system" | "light" | "dark";

/** Django's admin, on the same origin, keeps its own under "theme". */
const KEY = "sightglass-theme";

export function storedTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function applyTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  const isDark =
    theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}
