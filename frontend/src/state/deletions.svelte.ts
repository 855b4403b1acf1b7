/** Deletions that can still be undone: sent when the time is over, when another one begins, or when the page is left. */
import { SvelteSet } from "svelte/reactivity";

const GRACE_MS = 8000;

interface Deletion {
  id: string;
  /** All that go, with or without that one. */
  ids: string[];
  label: string;
  /** The parts that are not deleted with it. */
  left: string;
  send: () => Promise<unknown>;
}

/** Some were deleted and some were not: rejected by `send`, whose message is shown unchanged. */
export class PartlyDeleted extends Error {}

export class Deletions {
  /** The last one, while it can be undone. */
  pending = $state.raw<Deletion | null>(null);
  problem = $state("");
  /** Ids that are to be shown no more. */
  readonly gone = new SvelteSet<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Until all that were sent are answered. */
  private sent: Promise<unknown> = Promise.resolve();

  start(id: string, label: string, send: () => Promise<unknown>, left = "", ids = [id]): void {
    void this.commit();
    this.problem = "";
    for (const each of ids) this.gone.add(each);
    this.pending = { id, ids, label, left, send };
    this.resume();
  }

  undo(): void {
    this.pause();
    this.showAgain(this.pending);
    this.pending = null;
  }

  /** Stop the timer while the user is about to undo. */
  pause(): void {
    clearTimeout(this.timer);
  }

  resume(): void {
    this.pause();
    this.timer = setTimeout(() => void this.commit(), GRACE_MS);
  }

  /** Settles when it and those that were sent before are done, or said to have failed. */
  async commit(): Promise<void> {
    const { pending } = this;
    this.pause();
    this.pending = null;
    if (pending) this.sent = Promise.all([this.sent, this.send(pending)]);
    await this.sent;
  }

  private async send(deletion: Deletion): Promise<void> {
    try {
      await deletion.send();
    } catch (error) {
      this.showAgain(deletion);
      const { message } = error as Error;
      const isPart = error instanceof PartlyDeleted;
      this.problem = isPart ? message : `“${deletion.label}” was not deleted: ${message}`;
    }
  }

  private showAgain(deletion: Deletion | null): void {
    for (const each of deletion?.ids ?? []) this.gone.delete(each);
  }
}
