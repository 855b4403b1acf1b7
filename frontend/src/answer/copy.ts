/** The copy button of a block of code. */
const SHOWN_MS = 1500;

/** Copies the code of the pressed button; false: the pressed element is no copy button. */
export function copyCode({ target }: Event): boolean {
  const button = target instanceof Element ? target.closest<HTMLElement>("[data-copy]") : null;
  const code = button?.closest("figure")?.querySelector("code");
  if (!button || !code) return false;
  void copy(button, code.textContent);
  return true;
}

async function copy(button: HTMLElement, text: string): Promise<void> {
  button.textContent = await navigator.clipboard.writeText(text).then(
    () => "Copied",
    () => "Not allowed",
  );
  setTimeout(() => (button.textContent = "Copy"), SHOWN_MS);
}
