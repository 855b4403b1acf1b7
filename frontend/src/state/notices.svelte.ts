/** An operator's notices of now, without those that this browser's user has dismissed. */
import type { ShownNotice } from "../protocol/api";
import { api, ApiError } from "../transport/api";

const POLL_MS = 30_000;
const KEY = "sightglass-dismissed-notices";

export class Notices {
  private found = $state.raw<ShownNotice[]>([]);
  private dismissed = $state.raw<readonly number[]>(stored());
  private timer: ReturnType<typeof setInterval> | undefined;

  /** The session is over: nothing more is asked until the reader is back. */
  isSignedOut = $state(false);

  readonly shown = $derived(this.found.filter(({ id }) => !this.dismissed.includes(id)));

  /** Asks now, and again while the page can be seen. */
  open(): void {
    void this.load();
    this.poll();
  }

  close(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private poll(): void {
    this.timer ??= setInterval(() => {
      if (!document.hidden) void this.load();
    }, POLL_MS);
  }

  async load(): Promise<void> {
    try {
      this.found = (await api.notices()).notices;
      if (this.isSignedOut) this.poll();
      this.isSignedOut = false;
    } catch (error) {
      this.isSignedOut = error instanceof ApiError && error.status === 401;
      if (this.isSignedOut) this.close();
      // What is wrong with the server is said elsewhere; the notices stay as they were.
    }
  }

  /** Notices that are over are forgotten, so that the list stays short. */
  dismiss(id: number): void {
    const known = this.found.map((notice) => notice.id);
    this.dismissed = [...this.dismissed.filter((each) => known.includes(each)), id];
    try {
      localStorage.setItem(KEY, JSON.stringify(this.dismissed));
    } catch {
      // Without storage it stays dismissed as long as the page is open.
    }
  }
}

function stored(): number[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((each): each is number => typeof each === "number") : [];
  } catch {
    return [];
  }
}
