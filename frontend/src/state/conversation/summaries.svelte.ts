/** The summaries of one conversation: asked for again while one is being made, and after an answer that may begin one. */
import type { CompactionPreview, Message, Summary } from "../../protocol/api";
import { api } from "../../transport/api";

/** Pauses between looks, in ms. The server begins a summary of its own within moments of an answer's end. */
const LOOK_AFTER_MS = [700, 1500, 3000];
const WHILE_OPEN_MS = 1000;

export class Summaries {
  all = $state.raw<Summary[]>([]);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;

  /** conversationId: null while it is not saved. */
  constructor(private readonly conversationId: () => string | null) {}

  take(now: Summary[] | undefined): void {
    this.all = now ?? [];
    if (this.open) this.again([]);
  }

  get open(): Summary | null {
    return this.all.find(({ state }) => state === "open") ?? null;
  }

  /** The summary that stands for the branch's beginning; null: none does. */
  inForce(path: Message[]): Summary | null {
    const place = ({ up_to_id }: Summary) => path.findIndex(({ id }) => id === up_to_id);
    const found = this.all.filter((each) => each.state === "done" && place(each) >= 0);
    return found.reduce<Summary | null>(
      (best, each) => (best && place(best) > place(each) ? best : each),
      null,
    );
  }

  /** The newest one that ends at this message; null: there is none. */
  at(message: Message): Summary | null {
    return this.all.findLast(({ up_to_id }) => up_to_id === message.id) ?? null;
  }

  /** Look whether the server has begun one. */
  look(): void {
    this.again(LOOK_AFTER_MS);
  }

  preview(leafId: string, keep: number, signal: AbortSignal): Promise<CompactionPreview> {
    return api.previewCompaction(this.conversationId()!, { leaf_id: leafId, keep }, signal);
  }

  async make(leafId: string, keep: number): Promise<Summary> {
    const made = await api.compact(this.conversationId()!, { leaf_id: leafId, keep }, crypto.randomUUID());
    this.take([...this.all.filter(({ id }) => id !== made.id), made]);
    return made;
  }

  async undo({ id }: Summary): Promise<void> {
    await api.undoCompaction(this.conversationId()!, id);
    this.all = this.all.filter((each) => each.id !== id);
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private again([pause, ...later]: number[]): void {
    clearTimeout(this.timer);
    if (this.isClosed || (pause === undefined && !this.open)) return;
    this.timer = setTimeout(() => void this.load(later), pause ?? WHILE_OPEN_MS);
  }

  private async load(later: number[]): Promise<void> {
    const id = this.conversationId();
    const now = id ? await api.compactions(id).catch(() => null) : null;
    if (now && !this.isClosed) this.all = now.summaries;
    this.again(this.open ? [] : later);
  }
}
