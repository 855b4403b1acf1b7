/** The signed-in user, the models, and their loading. */
import type { Model, Session, WorkerStatus } from "../protocol/api";
import { api, ApiError } from "../transport/api";

const POLL_MS = 1000;
const SILENCE_MS = 2000;

/** Asks what has become of the worker as often as an answer shows nothing new for a while; returns the way to stop. */
export function askInSilence(numEvents: () => number, ask: () => void): () => void {
  let numHeard = numEvents();
  const timer = setInterval(() => {
    if (numEvents() === numHeard) ask();
    numHeard = numEvents();
  }, SILENCE_MS);
  return () => clearInterval(timer);
}

/** A model's worker: one that is loading, else any. */
export function workerOf(
  { id }: Pick<Model, "id">,
  workers: readonly WorkerStatus[],
): WorkerStatus | undefined {
  const own = workers.filter(({ model }) => model === id);
  return own.find(({ state }) => state === "loading") ?? own[0];
}

export class SessionState {
  session = $state.raw<Session | null>(null);
  problem = $state("");
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Load the session; repeat while that fails or a model is not ready. */
  async load(): Promise<void> {
    try {
      this.session = await api.session();
      this.problem = "";
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) location.assign("/accounts/login/");
      this.problem = error instanceof ApiError ? error.message : String(error);
    }
    const isWaiting = this.problem || this.session?.models.some((model) => !model.is_ready);
    clearTimeout(this.timer);
    if (isWaiting) this.timer = setTimeout(() => void this.load(), POLL_MS);
  }

  /** The model with which conversations begin. */
  private get model(): Model | undefined {
    return this.session?.models.find(({ id }) => id === this.session!.default_model);
  }

  private get worker(): WorkerStatus | undefined {
    return this.model && workerOf(this.model, this.session!.workers);
  }

  /** One line on the default model while it is not ready; empty when it is. */
  get notice(): string {
    if (this.problem) return this.problem;
    const { model, worker } = this;
    if (!model || model.is_ready) return "";
    if (!worker) return "No inference worker is running. Messages will wait in the queue.";
    if (worker.state === "failed")
      return worker.message
        ? `The model did not load: ${worker.message}`
        : "The model did not load. An operator can see the cause.";
    return `Loading the model: ${Math.round(Number(worker.progress) * 100)} %`;
  }

  /** The loaded share of the model, 0 to 1; null when nothing is loading. */
  get progress(): number | null {
    const { worker } = this;
    return worker?.state === "loading" ? Number(worker.progress) : null;
  }
}
