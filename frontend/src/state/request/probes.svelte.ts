/** Probes of the model: each is awaited, kept, and shared by all panels that ask for it. */
import { api, ApiError, type ProbeEvents, type ProbeKind } from "../../transport/api";

const FIRST_WAIT_MS = 120;
const LONGEST_WAIT_MS = 1000;

export class Look<Kind extends ProbeKind> {
  /** The probe's result; null: not yet, or `problem` says why not. */
  event = $state.raw<ProbeEvents[Kind] | null>(null);
  progress = $state<"queued" | "running">("queued");
  problem = $state("");
}

export class Probes {
  private looks = new Map<string, Look<ProbeKind>>();
  private isClosed = false;

  constructor(private readonly requestId: string) {}

  /** Start the probe, unless it was started before. */
  look<Kind extends ProbeKind>(kind: Kind, position: number): Look<Kind> {
    const key = `${kind}:${position}`;
    const known = this.looks.get(key);
    if (known) return known as Look<Kind>;
    const look = new Look<Kind>();
    this.looks.set(key, look as unknown as Look<ProbeKind>);
    void this.wait(kind, position, look);
    return look;
  }

  /** Once more, after a problem. */
  retry<Kind extends ProbeKind>(kind: Kind, position: number, look: Look<Kind>): void {
    look.problem = "";
    look.progress = "queued";
    void this.wait(kind, position, look);
  }

  close(): void {
    this.isClosed = true;
  }

  private async wait<Kind extends ProbeKind>(kind: Kind, position: number, look: Look<Kind>): Promise<void> {
    try {
      for (let pause = FIRST_WAIT_MS; !this.isClosed; pause = Math.min(pause * 1.5, LONGEST_WAIT_MS)) {
        const answer = await api.probe(this.requestId, kind, position);
        if (!("state" in answer)) {
          look.event = answer;
          return;
        }
        look.progress = answer.state;
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    } catch (error) {
      look.problem = error instanceof ApiError ? error.message : String(error);
    }
  }
}
