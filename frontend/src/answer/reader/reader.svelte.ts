/** The word of an answer that is open, and the words that it nearly said; knows nothing of painting. */
import { whyNoFork, type Forking } from "../../state/conversation/forking";
import type { RequestTrace } from "../../state/request/request-trace.svelte";
import type { TokenSampled } from "../../protocol/events";
import { percent } from "../../trace/format";
import { nearlySaid, type Nearly, type NearlySaid } from "../../trace/sampling/nearly-said";
import { quotedName, tokenName } from "../../trace/token-name";
import { numKept } from "../../trace/view";

/** A pointer that rests on a word opens it for as long as it rests there; a press or a key, until it is closed. */
export type OpenedBy = "pointer" | "press" | "keys";

export class Reader {
  position = $state<number | null>(null);
  by = $state<OpenedBy>("pointer");
  /** The row selected by keys; null: none. */
  row = $state<number | null>(null);
  isBusy = $state(false);
  /** The reason why the last branch was not begun. */
  problem = $state("");

  constructor(
    readonly trace: RequestTrace,
    /** Null where there is no server. */
    readonly forking: Forking | null,
  ) {}

  get isPinned(): boolean {
    return this.position !== null && this.by !== "pointer";
  }

  /** The token as it was drawn; null: none is open, or it was taken over from another answer. */
  get token(): TokenSampled | null {
    const { whole } = this.trace;
    if (this.position === null) return null;
    const token = whole.tokens[this.position - numKept(whole)];
    return token?.position === this.position ? token : null;
  }

  get nearly(): Nearly | null {
    return this.token && nearlySaid(this.token);
  }

  /** The reason why the answer cannot go on from here at all; empty: it can. */
  get refusal(): string {
    if (!this.forking) return "This page has no server, so you cannot branch here.";
    return this.token ? this.refusalOf() : "";
  }

  /** The reason why it cannot go on with this candidate; empty: it can. */
  refusalOf(candidate?: number): string {
    const { trace, forking, token } = this;
    return forking && token ? whyNoFork(forking, trace.requestId, trace.whole, token, candidate) : "";
  }

  labelOf({ id, piece }: NearlySaid): string {
    return tokenName(this.trace.whole, id, piece, this.token);
  }

  /** The place that the keys have reached, in words. */
  get said(): string {
    const { token, nearly, position } = this;
    if (this.by !== "keys" || position === null) return "";
    const row = this.row === null ? undefined : nearly?.rows[this.row];
    if (row) return `${this.labelOf(row)}, ${percent(row.probability)}. Enter branches from here.`;
    if (!token) return `Token ${position + 1}, not drawn in this answer.`;
    const others = nearly?.rows.filter(({ isChosen }) => !isChosen) ?? [];
    const list = others.map((each) => `${this.labelOf(each)} ${percent(each.probability)}`).join(", ");
    return `Token ${position + 1}: ${quotedName(token)}${list && `. It nearly said: ${list}`}.`;
  }

  open(position: number, by: OpenedBy): void {
    if (position !== this.position) this.row = null;
    this.problem = "";
    this.position = position;
    this.by = by;
  }

  /** Close the popover; returns true when it was open. */
  close(): boolean {
    const wasOpen = this.position !== null;
    this.position = this.row = null;
    return wasOpen;
  }

  /** Move to the next or previous row that can be branched to; false: there is none. */
  reach(by: 1 | -1): boolean {
    const rows = this.nearly?.rows ?? [];
    const able = rows.flatMap(({ isChosen, index }, row) => (this.canTake(isChosen, index) ? [row] : []));
    const found =
      by > 0 ? able.find((row) => row > (this.row ?? -1)) : able.findLast((row) => row < (this.row ?? 0));
    if (found !== undefined) this.row = found;
    return able.length > 0;
  }

  canTake(isChosen: boolean, candidate: number): boolean {
    return !isChosen && this.refusal === "" && this.refusalOf(candidate) === "";
  }

  /** Begin a new answer that says this instead, and show it in place of this one. */
  async branch(candidate: number, at: number): Promise<void> {
    const { token, forking } = this;
    if (!token || !forking || this.isBusy || this.refusalOf(candidate)) return;
    this.isBusy = true;
    const { requestId, whole } = this.trace;
    const place = {
      generation: whole.generationNumber,
      position: token.position,
      token_id: token.candidate_ids[candidate]!,
    };
    const refused = await forking.fork(requestId, place, at);
    this.isBusy = false;
    if (refused) this.problem = refused.message;
    else this.close();
  }
}
