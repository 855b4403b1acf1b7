/** Hands a file that was made in the page to its reader. */
const OFFERED_MS = 60_000;

export function offer(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), OFFERED_MS);
}
