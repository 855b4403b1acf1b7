/** Light, dark, or as the system has it; saved in this browser. */
export type Theme = "system" | "light" | "dark";

/** Django's admin, on the same origin, keeps its own under "theme". */
const KEY = "sightglass-theme";

export function storedTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

/** isWall: a large screen is dark unless the reader has chosen light. */
export function applyTheme(theme: Theme, isWall = false): void {
  localStorage.setItem(KEY, theme);
  const isSystemDark = isWall || matchMedia("(prefers-color-scheme: dark)").matches;
  const isDark = theme === "dark" || (theme === "system" && isSystemDark);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}
