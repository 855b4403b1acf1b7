/** The models of the registry, kept up to date for as long as the page is open. */
import type { RegisteredModel, WorkerStatus } from "../../protocol/api";
import { api, ApiError } from "../../transport/api";
import { desk } from "../../transport/desk";
import { isMoving } from "./words";

/** While a check runs or workers start. */
const SOON_MS = 1000;
const LATER_MS = 10_000;

export class Registry {
  /** Null: not read yet. */
  models = $state.raw<RegisteredModel[] | null>(null);
  /** The workers of all models, while a check runs. */
  workers = $state.raw<WorkerStatus[]>([]);
  problem = $state("");
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;
  /** Number of the last look: an earlier one's answer is dropped. */
  private last = 0;

  /** Read the models, and go on to follow them. */
  async load(): Promise<void> {
    clearTimeout(this.timer);
    const look = ++this.last;
    let isOver = false;
    try {
      const { models } = await desk.models();
      const workers = models.some(({ state }) => state === "checking") ? (await api.session()).workers : [];
      if (look === this.last) [this.models, this.workers, this.problem] = [models, workers, ""];
    } catch (error) {
      isOver = error instanceof ApiError && [401, 403].includes(error.status);
      if (look === this.last) this.problem = error instanceof Error ? error.message : String(error);
    }
    if (!isOver && look === this.last && !this.isClosed) this.lookAgain();
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private lookAgain(): void {
    const delay = this.models?.some(isMoving) ? SOON_MS : LATER_MS;
    this.timer = setTimeout(() => void this.load(), delay);
  }
}
