/** The service as it is now, kept up to date for as long as a page is open, for days where need be. */
import type { LiveNow, Point } from "../../protocol/api";
import { api, ApiError } from "../../transport/api";
import { LiveSocket } from "../../transport/live-socket";
import { startOf, startsOf, withPoint } from "./course";

const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 8000;
const LOST = "The connection to the server is lost. The page tries again by itself.";
const FORBIDDEN = "You are signed out, or may not see this page any more.";

export class Live {
  /** The last moment that is known; null: none yet. */
  now = $state.raw<LiveNow | null>(null);
  /** Points of the last 15 minutes, by worker. */
  histories = $state.raw<ReadonlyMap<string, readonly Point[]>>(new Map());
  /** Why `now` is not the present moment; empty: it is. */
  problem = $state("");
  /** The reader must sign in again; nothing more is tried. */
  isOver = $state(false);
  private readonly lastStart = $derived(this.now && startOf(this.now.at_ms));
  /** The beginnings of the charts' parts: the same array until the next part begins. */
  readonly starts: readonly number[] = $derived(this.lastStart === null ? [] : startsOf(this.lastStart));
  private socket: LiveSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private retryMs = MIN_RETRY_MS;
  private isClosed = false;

  /** Read the last 15 minutes, then follow. */
  async open(): Promise<void> {
    try {
      const { now, histories } = await api.live();
      if (this.isClosed) return;
      this.histories = new Map(histories.map(({ name, points }) => [name, points]));
      this.show(now);
    } catch (error) {
      return this.fail(error);
    }
    this.socket = new LiveSocket({ receive: (now) => this.receive(now), lose: (is) => this.lose(is) });
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }

  private fail(error: unknown): void {
    if (this.isClosed) return;
    const status = error instanceof ApiError ? error.status : -1;
    if (status === 401 || status === 403) return this.end();
    this.problem = error instanceof ApiError && status > 0 ? error.message : LOST;
    this.retry();
  }

  private receive(now: LiveNow): void {
    this.retryMs = MIN_RETRY_MS;
    if (now.problem) this.problem = now.problem;
    else this.show(now);
  }

  private show(now: LiveNow): void {
    const before = new Map(this.now?.workers.map((worker) => [JSON.stringify(worker), worker]));
    // A worker of which nothing is new stays the same object: its panel is not drawn again.
    const workers = now.workers.map((worker) => before.get(JSON.stringify(worker)) ?? worker);
    this.now = { ...now, workers };
    this.problem = "";
    const kept = now.workers.map(({ name, point }): [string, readonly Point[]] => {
      const points = this.histories.get(name) ?? [];
      return [name, point ? withPoint(points, point) : points];
    });
    this.histories = new Map(kept);
  }

  private lose(isForbidden: boolean): void {
    this.socket = null;
    if (isForbidden) return this.end();
    this.problem = LOST;
    this.retry();
  }

  private end(): void {
    this.problem = FORBIDDEN;
    this.isOver = true;
  }

  private retry(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.open(), this.retryMs);
    this.retryMs = Math.min(this.retryMs * 2, MAX_RETRY_MS);
  }
}
