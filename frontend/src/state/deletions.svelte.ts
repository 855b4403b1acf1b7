/** Deletions that can still be undone: sent when the time is over, when another one begins, or when the page is left. */
import { SvelteSet } from "svelte/reactivity";

const GRACE_MS = 8000;

interface Deletion {
  id: string;
  label: string;
  /** What is not deleted with it. */
  left: string;
  send: () => Promise<unknown>;
}

export class Deletions {
  /** The last one, while it can be undone. */
  pending = $state.raw<Deletion | null>(null);
  problem = $state("");
  /** Ids that are to be shown no more. */
  readonly gone = new SvelteSet<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  start(id: string, label: string, send: () => Promise<unknown>, left = ""): void {
    this.commit();
    this.problem = "";
    this.gone.add(id);
    this.pending = { id, label, left, send };
    this.resume();
  }

  undo(): void {
    this.pause();
    if (this.pending) this.gone.delete(this.pending.id);
    this.pending = null;
  }

  /** Nobody is hurried who is about to undo. */
  pause(): void {
    clearTimeout(this.timer);
  }

  resume(): void {
    this.pause();
    this.timer = setTimeout(() => this.commit(), GRACE_MS);
  }

  commit(): void {
    const { pending } = this;
    this.pause();
    this.pending = null;
    pending?.send().catch((error: Error) => {
      this.gone.delete(pending.id);
      this.problem = `“${pending.label}” was not deleted: ${error.message}`;
    });
  }
}
