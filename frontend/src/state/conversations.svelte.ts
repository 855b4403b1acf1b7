/** The list of conversations in the sidebar. */
import { SvelteMap, SvelteSet } from "svelte/reactivity";
import { api, type ConversationSummary } from "../transport/api";

/** What is written in a conversation that is not on the screen has no stream here that would tell of its end. */
const POLL_MS = 2000;

export class Conversations {
  list = $state<ConversationSummary[]>([]);
  query = $state("");
  problem = $state("");
  isLoaded = $state(false);
  /** Whose answer was completed while something else was on the screen. */
  readonly unread = new SvelteSet<string>();
  /** Of all that were ever listed here: a search shows only some. */
  readonly titles = new SvelteMap<string, string>();
  /** The last answer that nobody looked at, for screen readers. */
  told = $state("");
  private readonly streaming = new Set<string>();
  private current: string | null = null;
  private numLoads = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Which one is on the screen; null: none. */
  show(id: string | null): void {
    this.current = id;
    if (id) this.unread.delete(id);
  }

  /** An answer that was overtaken by a later question is dropped. */
  async load(): Promise<void> {
    const load = ++this.numLoads;
    clearTimeout(this.timer);
    await this.attempt(async () => {
      const { conversations } = await api.conversations(this.query);
      if (load !== this.numLoads) return;
      this.list = conversations;
      this.isLoaded = true;
      for (const each of conversations) this.follow(each);
    });
    if (load === this.numLoads && this.streaming.size)
      this.timer = setTimeout(() => void this.load(), POLL_MS);
  }

  async rename(id: string, title: string): Promise<void> {
    await this.attempt(async () => {
      this.titles.set(id, (await api.changeConversation(id, { title })).title);
      await this.load();
    });
  }

  close(): void {
    this.numLoads += 1;
    clearTimeout(this.timer);
  }

  private follow({ id, title, is_streaming }: ConversationSummary): void {
    this.titles.set(id, title);
    if (is_streaming) this.streaming.add(id);
    else if (this.streaming.delete(id) && id !== this.current) {
      this.unread.add(id);
      this.told = `The answer in “${title}” is complete.`;
    }
  }

  private async attempt(action: () => Promise<void>): Promise<void> {
    try {
      await action();
      this.problem = "";
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    }
  }
}
