/** Probes of the model: each is awaited, stored, and shared by all panels that ask for it. */
import { api, ApiError, type ProbeEvents, type ProbeKind } from "../../transport/api";

const FIRST_WAIT_MS = 120;
const LONGEST_WAIT_MS = 1000;

export class Probe<Kind extends ProbeKind> {
  /** The probe's result; null: not yet, or `problem` says why not. */
  event = $state.raw<ProbeEvents[Kind] | null>(null);
  progress = $state<"queued" | "running">("queued");
  problem = $state("");
}

export class Probes {
  private probes = new Map<string, Probe<ProbeKind>>();
  private isClosed = false;

  constructor(private readonly requestId: string) {}

  /** Start the probe, unless it was started before. */
  start<Kind extends ProbeKind>(kind: Kind, position: number): Probe<Kind> {
    const key = `${kind}:${position}`;
    const known = this.probes.get(key);
    if (known) return known as Probe<Kind>;
    const probe = new Probe<Kind>();
    this.probes.set(key, probe as unknown as Probe<ProbeKind>);
    void this.wait(kind, position, probe);
    return probe;
  }

  /** Once more, after a problem. */
  retry<Kind extends ProbeKind>(kind: Kind, position: number, probe: Probe<Kind>): void {
    probe.problem = "";
    probe.progress = "queued";
    void this.wait(kind, position, probe);
  }

  close(): void {
    this.isClosed = true;
  }

  private async wait<Kind extends ProbeKind>(
    kind: Kind,
    position: number,
    probe: Probe<Kind>,
  ): Promise<void> {
    try {
      for (let pause = FIRST_WAIT_MS; !this.isClosed; pause = Math.min(pause * 1.5, LONGEST_WAIT_MS)) {
        const answer = await api.probe(this.requestId, kind, position);
        if (!("state" in answer)) {
          probe.event = answer;
          return;
        }
        probe.progress = answer.state;
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    } catch (error) {
      probe.problem = error instanceof ApiError ? error.message : String(error);
    }
  }
}
