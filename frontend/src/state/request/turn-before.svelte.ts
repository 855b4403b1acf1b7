/** The turn before as its own trace tells it: this one keeps none of that one's texts, so they are gone when it is. */
import type { ContextCompared } from "../../protocol/events";
import { api, ApiError } from "../../transport/api";
import type { RequestTrace } from "./request-trace.svelte";

const ELSEWHERE = "This file does not hold the text of the turn before.";

export class TurnBefore {
  /** The comparison with the texts; null: they are not here, or not yet. */
  private read = $state.raw<ContextCompared | null>(null);
  /** The reason why they are not here; empty while they load. */
  why = $state("");
  private isAsked = false;
  private readonly recorded = $derived.by(() => this.trace.view.compared);
  /** As it is known so far; null: at the moment shown nothing was compared yet. */
  readonly compared = $derived(this.recorded && (this.read ?? this.recorded));

  constructor(private readonly trace: RequestTrace) {}

  /** Asked for once, by whichever panel needs them first; again only where the server was not reached. To be called in an effect. */
  need(hasServer: boolean): void {
    if (!this.recorded || this.isAsked) return;
    this.isAsked = true;
    if (hasServer && this.trace.requestId) void this.ask();
    else this.why = ELSEWHERE;
  }

  private async ask(): Promise<void> {
    try {
      this.read = await api.compared(this.trace.requestId);
      this.why = "";
    } catch (error) {
      this.why = error instanceof Error ? error.message : String(error);
      this.isAsked = error instanceof ApiError && error.status > 0;
    }
  }
}
