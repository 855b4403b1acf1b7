/** The message tree: the branch that is shown and the siblings beside it. */
import type { Message } from "../../protocol/api";

/** From the root to the leaf. */
export function branch(messages: Message[], leafId: string): Message[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const path: Message[] = [];
  for (let at = byId.get(leafId); at; at = at.parent_id ? byId.get(at.parent_id) : undefined) path.push(at);
  return path.reverse();
}

export function siblings(messages: Message[], message: Message): Message[] {
  return messages.filter((other) => other.parent_id === message.parent_id && other.role === message.role);
}

/** The newest end of the branch that goes through this message. */
export function newestLeaf(messages: Message[], message: Message): string {
  let at = message;
  for (;;) {
    const next = messages.filter((other) => other.parent_id === at.id).at(-1);
    if (!next) return at.id;
    at = next;
  }
}
