/** The memories on the page: all, or those nearest to the words of a search. Knows nothing of drawing. */
import type { MemoryMode, SavedMemory } from "../../protocol/api";
import { counted } from "../../trace/format";
import { memory } from "../../transport/memory";

export class Memories {
  list = $state.raw<SavedMemory[] | null>(null);
  mode = $state<MemoryMode["mode"]>("ask");
  /** All of the user. */
  num = $state(0);
  /** The words of the search; empty: all are listed. */
  words = $state("");
  problem = $state("");
  told = $state("");
  private asked = 0;

  get hasMore(): boolean {
    return this.list !== null && !this.words.trim() && this.list.length < this.num;
  }

  /** Read the list anew. An answer that comes after a later one is dropped. */
  async load(): Promise<void> {
    const turn = ++this.asked;
    await this.attempt(async () => {
      const found = await memory.list(this.words.trim(), 0);
      if (turn === this.asked) ({ memories: this.list, mode: this.mode, num: this.num } = found);
    });
  }

  async more(): Promise<void> {
    const before = this.list ?? [];
    await this.attempt(async () => {
      const found = await memory.list("", before.length);
      this.list = [...before, ...found.memories];
      this.num = found.num;
    });
  }

  async add(text: string): Promise<boolean> {
    return this.change(() => memory.save({ text }), "The memory is saved.");
  }

  async edit({ id }: SavedMemory, text: string): Promise<boolean> {
    return this.change(() => memory.change(id, { text }), "The memory is changed.");
  }

  async enable({ id }: SavedMemory, is_enabled: boolean): Promise<boolean> {
    const sentence = is_enabled ? "The memory is enabled." : "The memory is disabled: no prompt gets it.";
    return this.change(() => memory.change(id, { is_enabled }), sentence);
  }

  async remove({ id }: SavedMemory): Promise<boolean> {
    return this.change(() => memory.remove(id), "The memory is deleted.");
  }

  async clear(): Promise<boolean> {
    const { num } = this;
    return this.change(() => memory.clear(), `${counted(num, "memory", "memories")} deleted.`);
  }

  async choose(mode: MemoryMode["mode"]): Promise<void> {
    const before = this.mode;
    this.mode = mode;
    const isDone = await this.attempt(async () => void (await memory.setMode(mode)));
    if (!isDone) this.mode = before;
  }

  private async change(work: () => Promise<unknown>, sentence: string): Promise<boolean> {
    this.told = "";
    const isDone = await this.attempt(async () => void (await work()));
    if (!isDone) return false;
    await this.load();
    this.told = sentence;
    return true;
  }

  private async attempt(work: () => Promise<void>): Promise<boolean> {
    this.problem = "";
    try {
      await work();
      return true;
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      return false;
    }
  }
}
