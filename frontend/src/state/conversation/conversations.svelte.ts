/** The list of conversations in the sidebar. */
import { tick } from "svelte";
import { SvelteMap, SvelteSet } from "svelte/reactivity";
import type { ConversationSummary } from "../../protocol/api";
import { api, ApiError } from "../../transport/api";

/**
 * Pause between polls. No stream reports the end of an answer in a conversation that is not on the screen. The
 * conversation on the screen is polled once its stream has ended, because the server saves the answer a moment later.
 */
const POLL_MS = 2000;

export class Conversations {
  list = $state<ConversationSummary[]>([]);
  query = $state("");
  problem = $state("");
  isLoaded = $state(false);
  /** Conversations whose answer ended while another page was on the screen. */
  readonly unread = new SvelteSet<string>();
  /** Titles of all conversations ever listed here: a search shows only some. */
  readonly titles = new SvelteMap<string, string>();
  /** The last unread answer, for screen readers. */
  told = $state("");
  private readonly streaming = new Set<string>();
  private current: string | null = null;
  private followed: string | null = null;
  private isSignedOut = false;
  private numLoads = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Set the conversation on the screen; null: none. */
  show(id: string | null): void {
    this.current = id;
    if (id) this.unread.delete(id);
  }

  /** Set the conversation whose answer the page follows event by event, so that it knows its end; null: none. */
  follow(id: string | null): void {
    this.followed = id;
    this.pollLater();
  }

  /** Load the list. A reply that a later load overtook is dropped. */
  async load(): Promise<void> {
    const { query } = this;
    await this.ask(query, (listed) => {
      this.list = listed;
      this.isLoaded = true;
    });
  }

  /** Ask for all conversations, which is cheap. The results of a search stay listed, with fresh rows. */
  private async poll(): Promise<void> {
    await this.ask("", (listed) => {
      const now = new Map(listed.map((each) => [each.id, each]));
      this.list = this.query ? this.list.map((each) => now.get(each.id) ?? each) : listed;
    });
  }

  private async ask(query: string, show: (listed: ConversationSummary[]) => void): Promise<void> {
    const load = ++this.numLoads;
    clearTimeout(this.timer);
    await this.attempt(async () => {
      const { conversations } = await api.conversations(query);
      if (load !== this.numLoads) return;
      show(conversations);
      this.learn(conversations, query === "");
    });
    if (load === this.numLoads) this.pollLater();
  }

  private pollLater(): void {
    clearTimeout(this.timer);
    const isAwaited = [...this.streaming].some((id) => id !== this.followed);
    if (isAwaited && !this.isSignedOut) this.timer = setTimeout(() => void this.poll(), POLL_MS);
  }

  /** Stop polling for a deleted conversation. */
  forget(id: string): void {
    this.streaming.delete(id);
    this.pollLater();
  }

  async rename(id: string, title: string): Promise<void> {
    await this.attempt(async () => {
      this.titles.set(id, (await api.changeConversation(id, { title })).title);
      await this.load();
    });
  }

  async pin(id: string, isPinned: boolean): Promise<void> {
    await this.attempt(async () => {
      await api.changeConversation(id, { is_pinned: isPinned });
      await this.load();
    });
  }

  close(): void {
    this.numLoads += 1;
    this.streaming.clear();
    clearTimeout(this.timer);
  }

  private learn(listed: ConversationSummary[], isAll: boolean): void {
    const ended: string[] = [];
    for (const { id, title, is_streaming } of listed) {
      this.titles.set(id, title);
      if (is_streaming) this.streaming.add(id);
      else if (this.streaming.delete(id) && id !== this.current) {
        this.unread.add(id);
        ended.push(`The answer in “${title || "New chat"}” has ended.`);
      }
    }
    const known = new Set(listed.map(({ id }) => id));
    if (isAll) for (const id of this.streaming) if (!known.has(id)) this.streaming.delete(id);
    if (ended.length) void this.tell(ended.join(" "));
  }

  /** Announce a sentence to screen readers, also when it repeats the last one. */
  private async tell(sentence: string): Promise<void> {
    this.told = "";
    await tick();
    this.told = sentence;
  }

  private async attempt(action: () => Promise<void>): Promise<void> {
    try {
      await action();
      this.isSignedOut = false;
      this.problem = "";
    } catch (error) {
      this.isSignedOut = error instanceof ApiError && error.status === 401;
      this.problem = error instanceof Error ? error.message : String(error);
    }
  }
}
