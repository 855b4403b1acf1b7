/** The list of conversations in the sidebar. */
import { api, type ConversationSummary } from "../transport/api";

export class Conversations {
  list = $state<ConversationSummary[]>([]);
  query = $state("");

  async load(): Promise<void> {
    this.list = (await api.conversations(this.query)).conversations;
  }

  async rename(id: string, title: string): Promise<void> {
    await api.changeConversation(id, { title });
    await this.load();
  }

  async remove(id: string): Promise<void> {
    await api.deleteConversation(id);
    await this.load();
  }
}
