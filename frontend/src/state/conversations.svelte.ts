/** The list of conversations in the sidebar. */
import { api, type ConversationSummary } from "../transport/api";

export class Conversations {
  list = $state<ConversationSummary[]>([]);
  query = $state("");
  problem = $state("");
  isLoaded = $state(false);
  private numLoads = 0;

  /** An answer that was overtaken by a later question is dropped. */
  async load(): Promise<void> {
    const load = ++this.numLoads;
    await this.attempt(async () => {
      const { conversations } = await api.conversations(this.query);
      if (load !== this.numLoads) return;
      this.list = conversations;
      this.isLoaded = true;
    });
  }

  async rename(id: string, title: string): Promise<void> {
    await this.attempt(async () => {
      await api.changeConversation(id, { title });
      await this.load();
    });
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
