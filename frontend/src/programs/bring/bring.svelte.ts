/** The turns that a person brings, and what each of them is. They live as long as the page. */
import type { BroughtBody, BroughtPair, PriceTable, TakenApart } from "../../protocol/api";
import { bring } from "../../transport/bring";
import { sizeProblem, textOf } from "./files";

export type Kind = BroughtBody["kind"];

export class BroughtTurn {
  text = $state("");
  /** The API that the reader chose; null: the text's shape decides. */
  kind = $state<Kind | null>(null);
  apart = $state.raw<TakenApart | null>(null);
  problem = $state("");
  /** The text that `apart` or `problem` is about. */
  asked = $state<string | null>(null);

  readonly isCurrent = $derived(this.asked === this.text);

  constructor(readonly id: number) {}
}

export class Bring {
  #nextId = 1;
  turns = $state<BroughtTurn[]>([this.#made()]);
  index = $state(0);
  isBusy = $state(false);
  /** The model here that reads the texts; empty: the one that each text names, or the default. */
  model = $state("");
  tables = $state.raw<PriceTable[]>([]);
  table = $state("");
  #asking: AbortController | null = null;

  readonly turn = $derived(this.turns[this.index]!);
  readonly prices = $derived(
    this.tables.find(({ model }) => model === this.table) ??
      this.tables.find(({ model }) => model === (this.turn.apart?.body ?? this.turn.apart?.answer)?.model) ??
      this.tables[0] ??
      null,
  );
  readonly isEmpty = $derived(this.turns.every(({ text }) => !text.trim()));

  #made(): BroughtTurn {
    return new BroughtTurn(this.#nextId++);
  }

  async loadPrices(): Promise<void> {
    try {
      this.tables = (await bring.priceTables()).tables;
    } catch {
      this.tables = []; // the page then says that the price is unknown
    }
  }

  add(): void {
    this.turns.push(this.#made());
    this.index = this.turns.length - 1;
  }

  remove(index: number): void {
    this.turns.splice(index, 1);
    if (!this.turns.length) this.turns.push(this.#made());
    this.index = Math.min(this.index, this.turns.length - 1);
    // What followed the removed turn now follows another.
    for (const later of this.turns.slice(index)) later.asked = null;
    if (this.turn.text) void this.takeApart();
  }

  async show(index: number): Promise<void> {
    this.index = index;
    if (this.turn.text.trim() && !this.turn.isCurrent) await this.takeApart();
  }

  async fill(texts: readonly string[]): Promise<void> {
    this.turns = texts.map((text) => Object.assign(this.#made(), { text }));
    this.index = this.turns.length - 1;
    await this.takeApart();
  }

  async drop(file: Blob): Promise<void> {
    const turn = this.turn;
    const { text, problem } = await textOf(file);
    [turn.text, turn.apart, turn.problem, turn.asked] = [text, null, problem, problem ? text : null];
    if (!problem) await this.takeApart();
  }

  /** Takes the shown turn apart. An earlier question that is still open is given up. */
  async takeApart(): Promise<void> {
    const turn = this.turn;
    const asked = turn.text;
    this.#asking?.abort();
    const asking = (this.#asking = new AbortController());
    const tooLarge = sizeProblem(new Blob([asked]).size);
    if (tooLarge) [turn.apart, turn.problem, turn.asked] = [null, tooLarge, asked];
    if (tooLarge) return;
    this.isBusy = true;
    try {
      const apart = await bring.takeApart(this.#given(turn), asking.signal);
      [turn.apart, turn.problem, turn.asked] = [apart, "", asked];
    } catch (error) {
      if (asking.signal.aborted) return;
      [turn.apart, turn.problem, turn.asked] = [
        null,
        error instanceof Error ? error.message : String(error),
        asked,
      ];
    } finally {
      if (this.#asking === asking) this.isBusy = false;
    }
  }

  #given(turn: BroughtTurn): BroughtPair {
    const { text, kind } = turn;
    const before = this.#bodyBefore();
    const given = { text, kind, model: this.model || null };
    return before ? { ...given, before: before.text, before_kind: before.kind } : given;
  }

  /** The nearest turn before that is a request's body; an answer in between is none. */
  #bodyBefore(): BroughtTurn | null {
    const earlier = this.turns.slice(0, this.index).filter(({ text, problem, apart }) => {
      return text.trim() && !problem && !apart?.answer;
    });
    return earlier.at(-1) ?? null;
  }
}
